package lsp

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// Definition returns where what is named at a place in YAML is: a file, the function of a hook, or a case.
func (s *server) Definition(ctx context.Context, params *protocol.DefinitionParams) (protocol.DefinitionResult, error) {
	path := pathOf(params.TextDocument.URI)
	lines := newText(s.read(path))
	line, column := lines.offset(params.Position)
	if !s.isYAML(path) {
		return protocol.LocationSlice{}, nil
	}
	here, end := lines.line(line), column
	for end < len(here) && !strings.ContainsRune(",}]\"'", rune(here[end])) && !strings.HasPrefix(here[end:], ": ") {
		end++
	}
	at, ok := cursorAt(lines, line, end)
	if !ok {
		return protocol.LocationSlice{}, nil
	}
	at.word = strings.TrimSuffix(strings.TrimSpace(at.word), ":")
	if !at.isValue && slices.Contains(hookNames, at.word) && slices.Contains(at.path, "hooks") {
		return s.hookAt(ctx, path, line, at.word), nil
	}
	if n := len(at.path); n > 1 && at.path[n-1] == "case" && at.path[n-2] == "from" {
		for i, other := range lines {
			if match := nameOfCase.FindStringSubmatchIndex(other); match != nil && other[match[2]:match[3]] == at.word {
				return protocol.LocationSlice{{URI: params.TextDocument.URI, Range: lines.span(i, match[2], match[3])}}, nil
			}
		}
	}
	if found := s.fileNamed(ctx, path, at.word); found != "" {
		return protocol.LocationSlice{{URI: uri.File(found)}}, nil
	}
	return protocol.LocationSlice{}, nil
}

// fileNamed returns the file that a path in YAML names: relative to the file that it is in, or in the module tree of its definition.
func (s *server) fileNamed(ctx context.Context, path, word string) string {
	if word == "" {
		return ""
	}
	word = word[strings.LastIndexByte(word, '=')+1:] // A generator names a file as KEY=FILE.
	beside := filepath.Join(filepath.Dir(path), filepath.FromSlash(word))
	if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
		return beside
	}
	set := s.projectOf(ctx, path).loaded()
	for _, definition := range set.Definitions {
		if script := s.scriptAt(set, definition, word); script != "" {
			return script
		}
	}
	return ""
}

// hookAt returns where the function of a hook is, which a definition names in a line.
func (s *server) hookAt(ctx context.Context, path string, line int, hook string) protocol.LocationSlice {
	set := s.projectOf(ctx, path).loaded()
	for _, definition := range set.Definitions {
		at := definition.Place("spec.hooks." + hook)
		if at.File != path || at.Line < line || at.Line > line+2 { // The place is that of the value, which may be below.
			continue
		}
		name, _, _ := unstructured.NestedString(definition.Object, "spec", "hooks", hook, "script", "path")
		script := s.scriptAt(set, definition, name)
		if script == "" {
			continue
		}
		text := newText(s.read(script))
		for _, name := range []string{hook, "default"} {
			if found, start, end, ok := hookLine(text, name); ok {
				return protocol.LocationSlice{{URI: uri.File(script), Range: text.span(found, start, end)}}
			}
		}
		return protocol.LocationSlice{{URI: uri.File(script)}}
	}
	return protocol.LocationSlice{}
}

// scriptAt returns the file that has a path of the module tree of a definition, or "".
func (s *server) scriptAt(set *manifest.Set, definition *document.Object, path string) string {
	at, known := check.NewLocator(set, s.engines, definition)(engines.Location{File: path, Line: 1})
	if _, err := os.Stat(at.File); err != nil || !known || at.File == definition.Location.File {
		return ""
	}
	return at.File
}

// DocumentSymbol returns the cases of a file of tests, and the hooks of a script.
func (s *server) DocumentSymbol(_ context.Context, params *protocol.DocumentSymbolParams) (protocol.DocumentSymbolResult, error) {
	path := pathOf(params.TextDocument.URI)
	read := s.read(path)
	lines := newText(read)
	all := protocol.DocumentSymbolSlice{}
	if isTest(path) {
		file, _ := controllertest.Parse(path, []byte(read))
		for _, test := range file.Tests {
			for _, c := range test.Cases {
				at := lines.rangeOf(c.Location)
				all = append(all, protocol.DocumentSymbol{Name: c.Name, Kind: protocol.SymbolKindMethod, Range: at, SelectionRange: at})
			}
		}
		return all, nil
	}
	if !s.engines.HasScript(path) {
		return all, nil
	}
	for _, name := range hookNames {
		if line, start, end, ok := hookLine(lines, name); ok {
			at := lines.span(line, start, end)
			all = append(all, protocol.DocumentSymbol{Name: name, Kind: protocol.SymbolKindFunction, Range: at, SelectionRange: at})
		}
	}
	return all, nil
}
