package lsp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.lsp.dev/protocol"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
)

// CodeLens returns the commands that run the cases of a file of tests.
func (s *server) CodeLens(_ context.Context, params *protocol.CodeLensParams) ([]protocol.CodeLens, error) {
	path := pathOf(params.TextDocument.URI)
	all := []protocol.CodeLens{}
	lens := func(at protocol.Range, title, command string, arguments ...any) {
		c := protocol.Command{Title: title, Command: command}
		for _, argument := range arguments {
			text, _ := json.Marshal(argument)
			c.Arguments = append(c.Arguments, text)
		}
		all = append(all, protocol.CodeLens{Range: at, Command: c})
	}
	read := s.read(path)
	lines := newText(read)
	isFunctions := s.engines.TestsIn(path) != nil
	if !isTest(path) && !isFunctions {
		return all, nil
	}
	lens(lines.span(0, 0, len(lines.line(0))), "run all", runFile, path)
	if isFunctions {
		return all, nil
	}
	file, _ := controllertest.Parse(path, []byte(read))
	seen := map[int]bool{}
	for _, t := range file.Tests {
		for _, c := range t.Cases {
			if !seen[c.Location.Line] { // Those that each and definitions make of a case are run together.
				seen[c.Location.Line] = true
				lens(lines.rangeOf(c.Location), "run this case", runCase, path, c.Location.Line)
			}
		}
	}
	return all, nil
}

// ExecuteCommand runs tests as they are saved, and returns the report of test --output json. Failures become diagnostics.
func (s *server) ExecuteCommand(ctx context.Context, params *protocol.ExecuteCommandParams) (protocol.LSPAny, error) {
	var path string
	var line int
	for i, to := range []any{&path, &line} {
		if i < len(params.Arguments) {
			if err := json.Unmarshal(params.Arguments[i], to); err != nil {
				return nil, fmt.Errorf("%s: argument %d: %w", params.Command, i+1, err)
			}
		}
	}
	if params.Command != runCase && params.Command != runFile || path == "" {
		return nil, fmt.Errorf("%s: there are %s and %s, with a file as argument", params.Command, runCase, runFile)
	}
	return s.runTests(ctx, path, line)
}

// runTests runs the cases of a file that begin in a line, or all.
func (s *server) runTests(ctx context.Context, path string, line int) (protocol.LSPAny, error) {
	args := []string{path, "--output", "json", "--fail-on-empty=false"}
	if line > 0 {
		var names []string
		file, _ := controllertest.Parse(path, []byte(s.read(path)))
		for _, t := range file.Tests {
			for _, c := range t.Cases {
				if c.Location.Line == line {
					names = append(names, regexp.QuoteMeta(controllertest.Result{File: path, Name: c.Name}.ID()))
				}
			}
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s:%d: no case begins in this line: it may have moved, or the file can't be read", path, line)
		}
		args = append(args, "--run", "^("+strings.Join(names, "|")+")$")
	}
	if s.options.ScriptsDir != "" {
		args = append(args, "--scripts-dir", s.options.ScriptsDir)
	}
	var out, errs bytes.Buffer
	w := s.process
	w.Stdin, w.Stdout, w.Stderr = strings.NewReader(""), &out, &errs
	command := test.Command(w)
	command.SetArgs(args)
	command.SetOut(&out)
	command.SetErr(&errs)
	command.SilenceErrors, command.SilenceUsage = true, true
	failed := command.ExecuteContext(ctx)
	var results test.JSONReport
	if err := json.Unmarshal(out.Bytes(), &results); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", path, errors.Join(failed, err), strings.TrimSpace(errs.String()))
	}
	s.showResults(ctx, path, line > 0, results)
	return out.Bytes(), nil
}

// showResults shows a summary, and diagnostics of failures.
func (s *server) showResults(ctx context.Context, path string, isCase bool, results test.JSONReport) {
	lines := newText(s.read(path))
	var failures []protocol.Diagnostic
	ran := map[protocol.Range]bool{}
	for _, r := range results.Results {
		at := lines.rangeOf(engines.Location{File: path, Line: r.Line, Column: r.Column})
		ran[at] = true
		for _, f := range r.Failures {
			failures = append(failures, protocol.Diagnostic{
				Range: at, Severity: protocol.DiagnosticSeverityError, Code: protocol.String(r.Outcome), Source: protocol.NewOptional(sourceOfTests),
				Message: protocol.String(r.Name + ": " + strings.Join(append([]string{f.Message}, f.Diff...), "\n")),
			})
		}
	}
	s.mu.Lock()
	for _, before := range s.of(path).failures {
		if isCase && !ran[before.Range] {
			failures = append(failures, before)
		}
	}
	s.of(path).failures = failures
	s.mu.Unlock()
	s.show(ctx, path)
	message := &protocol.ShowMessageParams{Type: protocol.MessageTypeInfo}
	message.Message = fmt.Sprintf("%s: %d passed, %d failed, %d could not be run, %d skipped", filepath.Base(path),
		results.Passed, results.Failed, results.Errored, results.Skipped)
	if results.Failed+results.Errored > 0 {
		message.Type = protocol.MessageTypeError
	}
	if s.isUnsaved(path) {
		message.Message += ": it was run as it is saved, and has changed since"
	}
	_ = s.client.ShowMessage(ctx, message) // The stream has ended.
}

// isUnsaved reports whether a file is open with another text than that of the disk.
func (s *server) isUnsaved(path string) bool {
	s.mu.Lock()
	open, ok := s.buffers[path]
	s.mu.Unlock()
	return ok && open != readDisk(path)
}
