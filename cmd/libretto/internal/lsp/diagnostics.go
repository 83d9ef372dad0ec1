package lsp

import (
	"cmp"
	"context"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// severities are those of an editor.
var severities = map[check.Severity]protocol.DiagnosticSeverity{
	check.Error: protocol.DiagnosticSeverityError, check.Warning: protocol.DiagnosticSeverityWarning,
	check.Note: protocol.DiagnosticSeverityInformation,
}

// docs is where the documentation is, and pages what it has about findings, besides the list of all.
const docs = "https://github.com/libretto-k8s/libretto/blob/main/docs/"

const listOfFindings = "guide/check-and-render.md"

var pages = map[string]string{
	"SchemaMismatch":      listOfFindings + "#scripts-against-schemas",
	"NoStatusChecks":      "reference/conditions.md",
	"NoStatusSubresource": "reference/conditions.md",
	"NoScriptRollout":     "reference/conditions.md",
	"ResourceNotFound":    "reference/conditions.md",
	"UnusedLibraries":     "guide/scripts.md#one-immutable-configmap-bundle",
}

// source is what diagnostics are of, and sourceOfTests those of cases that were run.
const source, sourceOfTests = "libretto", "libretto test"

// diagnostics are those of a file: what the last check found, and the failures of tests that were run.
type diagnostics struct {
	found, failures []protocol.Diagnostic
	isShown         bool
}

// of returns the diagnostics of a file. s.mu must be held.
func (s *server) of(path string) *diagnostics {
	if s.diagnostics[path] == nil {
		s.diagnostics[path] = &diagnostics{}
	}
	return s.diagnostics[path]
}

// publish shows an editor what was found in a file. It reports whether it did, and does not once ctx has ended.
func (s *server) publish(ctx context.Context, path string, findings []check.Finding) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	all := []protocol.Diagnostic{}
	lines := newText(s.read(path))
	for _, f := range findings {
		all = append(all, diagnosticOf(f, lines))
	}
	s.mu.Lock()
	if ctx.Err() != nil {
		s.mu.Unlock()
		return false
	}
	s.of(path).found = all
	s.mu.Unlock()
	s.show(ctx, path)
	return true
}

// show shows an editor what was found in a file, and which tests in it have failed.
func (s *server) show(ctx context.Context, path string) {
	s.showing.Lock()
	defer s.showing.Unlock()
	s.mu.Lock()
	d := s.of(path)
	all := slices.Concat([]protocol.Diagnostic{}, d.found, d.failures)
	before := d.isShown
	d.isShown = len(all) > 0
	s.mu.Unlock()
	if before || len(all) > 0 {
		_ = s.client.PublishDiagnostics(ctx, &protocol.PublishDiagnosticsParams{URI: uri.File(path), Diagnostics: all}) // The stream has ended.
	}
}

func diagnosticOf(f check.Finding, lines text) protocol.Diagnostic {
	return protocol.Diagnostic{
		Range: lines.rangeOf(f.Location), Severity: severities[f.Severity], Code: protocol.String(f.Reason),
		CodeDescription: protocol.CodeDescription{Href: uri.URI(docs + cmp.Or(pages[f.Reason], listOfFindings))},
		Source:          protocol.NewOptional(source), Message: protocol.String(strings.Join(append([]string{f.Text()}, f.Detail...), "\n")),
	}
}

// CodeAction returns the corrections that diagnostics propose.
func (s *server) CodeAction(_ context.Context, params *protocol.CodeActionParams) ([]protocol.CommandOrCodeAction, error) {
	all := []protocol.CommandOrCodeAction{}
	path := pathOf(params.TextDocument.URI)
	lines := newText(s.read(path))
	kind := protocol.CodeActionKindQuickFix
	for _, d := range params.Context.Diagnostics {
		message, _ := d.Message.(protocol.String)
		at, meant := correction(lines, int(d.Range.Start.Line), string(message))
		if meant == "" {
			continue
		}
		all = append(all, &protocol.CodeAction{
			Title: "Change to " + meant, Kind: &kind, Diagnostics: []protocol.Diagnostic{d},
			Edit: &protocol.WorkspaceEdit{Changes: map[uri.URI][]protocol.TextEdit{params.TextDocument.URI: {{Range: at, NewText: meant}}}},
		})
	}
	return all, nil
}

var (
	proposal     = regexp.MustCompile(`did you mean ([^?\s]+)\?`)
	unknownField = regexp.MustCompile(`unknown field ([^\s:]+)`)
	nameInText   = regexp.MustCompile(`[\w$./-]*[\w$]`)
)

// linesOfObject is how far from where a finding is the word may stand that it is about: it may be shown at the object.
const linesOfObject = 10

// correction returns where a text has the word that a finding is about, and what it is to be, or an empty text.
func correction(lines text, line int, message string) (at protocol.Range, meant string) {
	var wrong string
	if match := proposal.FindStringSubmatchIndex(message); match != nil {
		meant = message[match[2]:match[3]]
		wrong = wordLike(meant, message[:match[0]])
	} else if match := unknownField.FindStringSubmatch(message); match != nil {
		wrong = match[1][strings.LastIndexAny(match[1], ".]")+1:]
		meant = spelling.Nearest(wrong, namesBeside(lines, line, wrong))
	}
	for i := line; wrong != "" && meant != "" && i <= line+linesOfObject && i < len(lines); i++ {
		if column := spelling.Index(lines[i], wrong, 0); column >= 0 {
			return lines.span(i, column, column+len(wrong)), meant
		}
	}
	return at, ""
}

// wordLike returns the word of a message that is nearest to a proposal: a whole one, or the end of a path.
func wordLike(meant, message string) string {
	var words []string
	for _, word := range nameInText.FindAllString(message, -1) {
		words = append(words, word, word[strings.LastIndexByte(word, '.')+1:])
	}
	return spelling.Nearest(meant, words)
}

// namesBeside returns the fields that a field in or below a line could have been.
func namesBeside(lines text, line int, wrong string) []string {
	for i := line; i <= line+linesOfObject && i < len(lines); i++ {
		if column := spelling.Index(lines[i], wrong, 0); column >= 0 {
			at, _ := cursorAt(lines, i, column)
			m, _ := schemaAt(at, &manifest.Set{})
			return m.Names()
		}
	}
	return nil
}
