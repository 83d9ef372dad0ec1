package check

import (
	"fmt"
	"io"
	"strings"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// Formats are the formats that Write knows.
var Formats = []string{"text", "json", "github"}

// Write writes the result for people, for programs, or as annotations of GitHub. colour is for people.
func (r *Result) Write(w io.Writer, format string, colour bool) error {
	switch format {
	case "json":
		return r.writeJSON(w)
	case "github":
		return r.writeGitHub(w)
	case "text":
		return r.writeText(w, colour)
	default:
		return fmt.Errorf("no format %q: there are %s", format, strings.Join(Formats, ", "))
	}
}

// Summary returns the last line for people.
func (r *Result) Summary() string {
	checked := cli.Count(r.Definitions, "definition") + " and " + cli.Count(r.Scripts, "script") + " checked: "
	errors, warnings := r.Count(Error), r.Count(Warning)
	if errors+warnings == 0 {
		return checked + "no problems"
	}
	return checked + cli.Count(errors, "error") + ", " + cli.Count(warnings, "warning")
}

// The escape sequences of colours.
const (
	bold, red, yellow, cyan, plain = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[0m"
)

var colours = map[Severity]string{Error: red, Warning: yellow, Note: cyan}

// writeText writes a line for each finding, as compilers do, so that editors find the places, and the summary.
func (r *Result) writeText(w io.Writer, colour bool) error {
	paint := func(colours, text string) string {
		if !colour || text == "" {
			return text
		}
		return colours + text + plain
	}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintln(w, f.line(paint)); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(w, r.Summary())
	return err
}

// String returns the finding for people.
func (f Finding) String() string {
	return f.line(func(_, text string) string { return text })
}

// line returns the finding with its place before and its reason behind it, painted in colours.
func (f Finding) line(paint func(colours, text string) string) string {
	at := indented(f.Location.String())
	if at != "" {
		at = paint(bold, at+":") + " "
	}
	severity := paint(colours[f.Severity], string(f.Severity)+":")
	message := indented(strings.Join(append([]string{f.Text()}, f.Detail...), "\n"))
	return fmt.Sprintf("%s%s %s [%s]", at, severity, message, f.Reason)
}

// Text returns the message with the object that it is about.
func (f Finding) Text() string {
	if f.Object == "" || strings.HasPrefix(f.Message, f.Object) {
		return f.Message
	}
	return f.Object + ": " + f.Message
}

// indented returns a text whose further lines are indented, without what a terminal would obey: messages may quote the text of others.
func indented(text string) string {
	return strings.ReplaceAll(printable.Text(strings.TrimSpace(text)), "\n", "\n    ")
}

// jsonFinding is the form of a finding in JSON.
type jsonFinding struct {
	Severity Severity `json:"severity"`
	Reason   string   `json:"reason"`
	File     string   `json:"file,omitempty"`
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Object   string   `json:"object,omitempty"`
	Message  string   `json:"message"`
	Detail   []string `json:"detail,omitempty"`
}

func (r *Result) writeJSON(w io.Writer) error {
	out := struct {
		Definitions int           `json:"definitions"`
		Scripts     int           `json:"scripts"`
		Errors      int           `json:"errors"`
		Warnings    int           `json:"warnings"`
		Findings    []jsonFinding `json:"findings"`
	}{r.Definitions, r.Scripts, r.Count(Error), r.Count(Warning), []jsonFinding{}}
	for _, f := range r.Findings {
		out.Findings = append(out.Findings, jsonFinding{
			f.Severity, f.Reason, f.Location.File, f.Location.Line, f.Location.Column, f.Object, f.Message, f.Detail,
		})
	}
	return cli.WriteJSON(w, out)
}

// commands are GitHub's names of the severities.
var commands = map[Severity]string{Error: "error", Warning: "warning", Note: "notice"}

// writeGitHub writes workflow commands, which become annotations.
func (r *Result) writeGitHub(w io.Writer) error {
	for _, f := range r.Findings {
		message := strings.Join(append([]string{f.Text()}, f.Detail...), "\n")
		if err := cli.WriteAnnotation(w, commands[f.Severity], f.Reason, f.Location, message); err != nil {
			return err
		}
	}
	return nil
}
