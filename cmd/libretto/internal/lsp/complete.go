package lsp

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/scriptcheck"
)

// isYAML reports whether a file is read as objects, and not as a script.
func (s *server) isYAML(path string) bool {
	return slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(path)) && !s.engines.HasScript(path)
}

// Completion returns what may be written at a place.
func (s *server) Completion(ctx context.Context, params *protocol.CompletionParams) (protocol.CompletionResult, error) {
	path := pathOf(params.TextDocument.URI)
	lines := newText(s.read(path))
	line, column := lines.offset(params.Position)
	start, _ := wordAt(lines.line(line), column)
	items := protocol.CompletionItemSlice{}
	if at, ok := cursorAt(lines, line, column); ok && s.isYAML(path) {
		start = at.start
		items = append(items, s.inYAML(ctx, path, at, lines, line)...)
	} else { // Also one that stands in YAML.
		items = append(items, s.inScript(ctx, path, lines, line, start, column)...)
	}
	for i := range items {
		written, hasText := items[i].InsertText.Get()
		if items[i].InsertText.Clear(); !hasText {
			written = items[i].Label
		}
		items[i].TextEdit = &protocol.TextEdit{Range: lines.span(line, start, column), NewText: written}
	}
	return items, nil
}

func itemOf(kind protocol.CompletionItemKind, label, detail, doc string) protocol.CompletionItem {
	i := protocol.CompletionItem{Label: label, Kind: kind}
	if detail != "" {
		i.Detail = protocol.NewOptional(detail)
	}
	if doc != "" {
		i.Documentation = &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: doc}
	}
	return i
}

func itemsOf(kind protocol.CompletionItemKind, words []string) []protocol.CompletionItem {
	var all []protocol.CompletionItem
	slices.Sort(words)
	for _, word := range slices.Compact(words) {
		all = append(all, itemOf(kind, word, "", ""))
	}
	return all
}

// itemsOfFields returns items for fields, which are written with a text after them.
func itemsOfFields(fields []scriptcheck.Field, after string) []protocol.CompletionItem {
	var all []protocol.CompletionItem
	for _, f := range fields {
		i := itemOf(protocol.CompletionItemKindField, f.Name, f.Type, f.Doc)
		i.InsertText = protocol.NewOptional(f.Name + after)
		all = append(all, i)
	}
	return all
}

// inYAML returns what may be written at a place in YAML.
func (s *server) inYAML(ctx context.Context, path string, at yamlCursor, lines text, line int) []protocol.CompletionItem {
	set := s.projectOf(ctx, path).loaded()
	may, known := schemaAt(at, set)
	if !at.isValue && known && len(may.Names()) > 0 {
		after := ": "
		if strings.Contains(lines.line(line)[min(at.start, len(lines.line(line))):], ":") {
			after = ""
		}
		return itemsOfFields(may.Fields(), after)
	}
	field := ""
	if n := len(at.path); n > 0 {
		if field = at.path[n-1]; field == "[]" && n > 1 {
			field = at.path[n-2]
		}
	}
	switch field {
	case "apiVersion", "kind", "resource":
		return itemsOf(protocol.CompletionItemKindClass, resourceWords(field, at, set))
	case "definition", "definitions", "golden", "snapshot", "request", "given", "scripts", "resources", "path", "files":
		return itemsOf(protocol.CompletionItemKindFile, pathsFrom(filepath.Dir(path), at.word))
	case "case":
		return itemsOf(protocol.CompletionItemKindReference, casesAbove(lines, line))
	}
	if !known {
		return nil
	}
	return itemsOf(protocol.CompletionItemKindEnumMember, slices.Clone(may.Values()))
}

// resourceWords returns the kinds, the resources, or their versions.
func resourceWords(field string, at yamlCursor, set *manifest.Set) []string {
	var words []string
	for _, r := range set.Known().All() {
		switch version := r.GroupVersion().String(); {
		case field == "apiVersion":
			words = append(words, version)
		case at.beside["apiVersion"] != "" && at.beside["apiVersion"] != version:
		case field == "kind":
			words = append(words, r.Kind.Kind)
		default:
			words = append(words, r.Resource)
		}
	}
	if field == "apiVersion" || field == "kind" {
		words = append(words, map[string]string{"apiVersion": controllertest.APIVersion, "kind": controllertest.Kind}[field])
	}
	return words
}

// pathsFrom returns the paths that begin with a word, relative to a folder.
func pathsFrom(folder, word string) []string {
	within := word[:strings.LastIndexByte(word, '/')+1]
	entries, _ := os.ReadDir(filepath.Join(folder, filepath.FromSlash(within)))
	var all []string
	for _, entry := range entries {
		switch name := entry.Name(); {
		case strings.HasPrefix(name, "."):
		case entry.IsDir():
			all = append(all, within+name+"/")
		default:
			all = append(all, within+name)
		}
	}
	return all
}

// nameOfCase matches the first line of a case.
var nameOfCase = regexp.MustCompile(`^\s*- \{?name: ["']?(.+?)["']?\s*$`)

// casesAbove returns the names of the cases above the one that a line is in.
func casesAbove(lines text, line int) []string {
	var names []string
	for _, above := range lines[:min(line, len(lines))] {
		if match := nameOfCase.FindStringSubmatch(above); match != nil {
			names = append(names, match[1])
		}
	}
	return names[:max(0, len(names)-1)] // The last one is the case itself.
}
