package lsp

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.lsp.dev/protocol"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/controllers/scriptcheck"
	"github.com/libretto-k8s/libretto/engines/authoring"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// placeholder is put where something is being written, so that the script can be loaded: what may stand there is known from it.
const placeholder = "libretto__"

// inScript returns what may be written at a place in a script, in which a word begins at the byte start.
func (s *server) inScript(ctx context.Context, path string, lines text, line, start, column int) []protocol.CompletionItem {
	here := lines.line(line)
	if _, from, other := strings.Cut(here[column:], " from "); ofLibrary.MatchString(here[:start]) && (!other || importOfLibrary.MatchString(from)) {
		var all []protocol.CompletionItem
		for _, f := range library() {
			all = append(all, itemOf(protocol.CompletionItemKindFunction, f.name, f.signature, f.doc))
		}
		return all
	}
	var found []scriptcheck.Field
	for _, written := range []string{placeholder, placeholder + ": null"} {
		if len(found) > 0 || ctx.Err() != nil {
			break
		}
		_, end := wordAt(here, column)
		changed := slices.Clone(lines)
		changed[line] = here[:start] + written + here[end:]
		s.watch(ctx, path, strings.Join(changed, "\n"), func(m scriptcheck.Member) {
			if m.Name == placeholder {
				found = append(found, m.Fields()...)
			}
		})
	}
	slices.SortFunc(found, func(a, b scriptcheck.Field) int { return strings.Compare(a.Name, b.Name) })
	found = slices.CompactFunc(found, func(a, b scriptcheck.Field) bool { return a.Name == b.Name })
	return itemsOfFields(found, "")
}

// watch calls watch with the fields that the scripts in a file name, with a text in its place.
func (s *server) watch(ctx context.Context, path, text string, watch func(scriptcheck.Member)) {
	p := s.projectOf(ctx, path)
	if p == nil {
		return
	}
	overlay := s.overlay()
	overlay[path] = text
	if set, err := s.loadWith(ctx, p, overlay); err == nil {
		check.Watch(ctx, set, s.engines, func(m scriptcheck.Member) {
			if m.At.File == path {
				watch(m)
			}
		})
	}
}

// memberAt returns the field that a script names at a place.
func (s *server) memberAt(ctx context.Context, path string, lines text, line, column int) (found *scriptcheck.Member) {
	s.watch(ctx, path, strings.Join(lines, "\n"), func(m scriptcheck.Member) {
		at := lines.rangeOf(m.At)
		start, _ := wordAt(lines.line(line), column)
		if int(at.Start.Line) == line && m.Name != "" {
			_, from := lines.offset(at.Start)
			if from == start || spelling.Index(lines.line(line), m.Name, from) == start {
				if _, known := m.Field(); known && found == nil {
					found = &m
				}
			}
		}
	})
	return found
}

// function is a function of the module libretto.
type function struct{ name, signature, doc string }

var (
	// ofLibrary matches the text before a name that is taken from the module libretto.
	ofLibrary = regexp.MustCompile(`\blibretto\.$|^\s*import\s*\{[^}]*$`)
	declared  = regexp.MustCompile(`(?m)^(?:  )?export (?:declare )?function (\w+)((?:<[^(]*>)?\([\s\S]*?\)\s*:\s*[^;]+);`)
)

// library returns the functions of the module libretto, sorted.
var library = sync.OnceValue(func() []function {
	var all []function
	text := authoring.Declarations
	for _, at := range declared.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		if slices.ContainsFunc(all, func(f function) bool { return f.name == name }) {
			continue // Another signature of the same.
		}
		signature := strings.Join(strings.Fields(name+text[at[4]:at[5]]), " ")
		all = append(all, function{name, signature, commentBefore(text[:at[0]])})
	}
	slices.SortFunc(all, func(a, b function) int { return strings.Compare(a.name, b.name) })
	return all
})

// commentBefore returns the text of the comment that a declaration follows, without examples.
func commentBefore(text string) string {
	text = strings.TrimSpace(text)
	start := strings.LastIndex(text, "/**")
	if !strings.HasSuffix(text, "*/") || start < 0 {
		return ""
	}
	var words []string
	for line := range strings.Lines(text[start+len("/**") : len(text)-len("*/")]) {
		line = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(line), "*"))
		if strings.HasPrefix(line, "@") {
			break
		}
		words = append(words, strings.Fields(line)...)
	}
	return strings.Join(words, " ")
}

// docOf returns what the declarations say about a field of a request or a response.
func docOf(typeName, field string) string {
	_, body, found := strings.Cut(authoring.Declarations, "export interface "+typeName)
	body, _, _ = strings.Cut(body, "\n}")
	before, _, has := strings.Cut(body, "\n  "+field+":")
	if !has {
		before, _, has = strings.Cut(body, "\n  "+field+"?:")
	}
	if !found || !has {
		return ""
	}
	return commentBefore(before)
}

// Hover describes what stands at a place.
func (s *server) Hover(ctx context.Context, params *protocol.HoverParams) (*protocol.Hover, error) {
	path := pathOf(params.TextDocument.URI)
	lines := newText(s.read(path))
	line, column := lines.offset(params.Position)
	start, end := wordAt(lines.line(line), column)
	name := lines.line(line)[start:end]
	text := ""
	if at, ok := cursorAt(lines, line, start); ok && s.isYAML(path) {
		text = s.hoverYAML(ctx, path, at, name)
	} else if m := s.memberAt(ctx, path, lines, line, column); m != nil {
		f, _ := m.Field()
		if f.Doc == "" {
			f.Doc = docOf(m.Type(), f.Name)
		}
		text = describe(f)
	} else if i := slices.IndexFunc(library(), func(f function) bool { return f.name == name }); i >= 0 && usesLibrary(lines) {
		text = "```typescript\n" + library()[i].signature + "\n```\n\n" + library()[i].doc
	}
	if text == "" {
		return nil, nil
	}
	at := lines.span(line, start, end)
	return &protocol.Hover{Contents: &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}, Range: &at}, nil
}

// hoverYAML describes a field in YAML.
func (s *server) hoverYAML(ctx context.Context, path string, at yamlCursor, name string) string {
	if at.isValue || name == "" {
		return ""
	}
	m, _ := schemaAt(at, s.projectOf(ctx, path).loaded())
	m.Name = name
	if f, known := m.Field(); known {
		return describe(f)
	}
	return ""
}

var importOfLibrary = regexp.MustCompile(`["']libretto(\.libsonnet)?["']`)

func usesLibrary(lines text) bool { return slices.ContainsFunc(lines, importOfLibrary.MatchString) }

// hookFunction matches where a script has the function of a hook.
func hookFunction(name string) *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:export\s+(?:default\s+)?)?(?:async\s+)?(?:function\s+|const\s+|local\s+)?` +
		`["']?\b(` + name + `)\b["']?\s*(?:\(|::?|=)`)
}

// hookLine returns the line of a script that has the function of a hook, and where its name begins and ends.
func hookLine(lines text, name string) (line, start, end int, found bool) {
	pattern := hookFunction(regexp.QuoteMeta(name))
	for i, s := range lines {
		if at := pattern.FindStringSubmatchIndex(s); at != nil {
			return i, at[2], at[3], true
		}
	}
	return 0, 0, 0, false
}

// hookNames are the hooks that a definition may have.
var hookNames = []string{"sync", "finalize", "customize", "map", "tombstone"}
