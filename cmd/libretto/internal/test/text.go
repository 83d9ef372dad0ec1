package test

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// The escape sequences of colours.
const (
	bold, red, green, yellow, cyan, dim, plain = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[2m", "\x1b[0m"
)

var outcomeColours = map[controllertest.Outcome]string{
	controllertest.Passed: green, controllertest.Failed: red, controllertest.Skipped: yellow, controllertest.Errored: red,
}

// text writes what people read.
type text struct {
	Options
	out io.Writer
	// shown are the errors that were shown: a script that does not load is one message, however many cases it has.
	shown map[string]bool
}

// maxSourceLine is how many characters of a line of a script are shown.
const maxSourceLine = 200

func (t *text) paint(colour, text string) string {
	if !t.Colour || text == "" {
		return text
	}
	return colour + text + plain
}

// Report writes a result, unless it passed and that is not asked for.
func (t *text) Report(r controllertest.Result) error {
	if key := sameError(r); key != "" {
		if t.shown[key] {
			return nil
		}
		t.shown[key] = true
	}
	passed := r.Outcome == controllertest.Passed
	if passed && !t.Verbose {
		return nil
	}
	var b bytes.Buffer
	head := place(r) + ": " + r.Name
	if passed {
		head += " (" + seconds(r.Duration) + ")"
	}
	fmt.Fprintf(&b, "%s %s\n", t.paint(bold+outcomeColours[r.Outcome], string(r.Outcome)), t.paint(bold, printable.Line(head)))
	if r.Reason != "" {
		fmt.Fprintf(&b, "    %s\n", indent(r.Reason))
	}
	if r.Outcome != controllertest.Skipped || t.Verbose { // Known failures are known.
		for _, failure := range r.Failures {
			t.failure(&b, failure)
		}
	}
	if len(r.Logs) > 0 && r.Outcome != controllertest.Skipped {
		fmt.Fprintln(&b, "    logged:")
		for _, line := range r.Logs {
			fmt.Fprintf(&b, "      %s\n", strings.ReplaceAll(printable.Text(line), "\n", "\n      "))
		}
	}
	if !passed && r.Outcome != controllertest.Skipped && t.Rerun != nil {
		if command := t.Rerun(r); command != "" {
			fmt.Fprintf(&b, "    %s %s\n", t.paint(dim, "rerun:"), printable.Text(command))
		}
	}
	_, err := t.out.Write(b.Bytes())
	return err
}

// place returns the file and line of a case.
func place(r controllertest.Result) string {
	at := r.Location
	if at.File == "" {
		at.File = r.File
	}
	at.Column = 0
	return at.String()
}

func (t *text) failure(b *bytes.Buffer, f controllertest.Failure) {
	at := f.Location.String()
	if at != "" {
		at = t.paint(cyan, printable.Line(at)) + ": "
	}
	fmt.Fprintf(b, "    %s%s\n", at, indent(message(f)))
	for _, line := range f.Diff {
		colour := ""
		switch {
		case strings.HasPrefix(line, "-"):
			colour = red
		case strings.HasPrefix(line, "+"):
			colour = green
		}
		line = strings.ReplaceAll(printable.Text(line), "\n", "\n      ")
		if colour != "" {
			line = t.paint(colour, line)
		}
		fmt.Fprintf(b, "      %s\n", line)
	}
	if f.Case != "" {
		text := strings.ReplaceAll(printable.Text(strings.TrimSpace(f.Case)), "\n", "\n      ")
		fmt.Fprintf(b, "    %s\n      %s\n", t.paint(dim, failingCase), text)
	}
	if script := f.Script.String(); script != "" {
		fmt.Fprintf(b, "    %s %s\n", t.paint(dim, "script:"), t.paint(cyan, printable.Line(script)))
		if source := printable.Text(t.source(f)); source != "" {
			fmt.Fprintf(b, "      %s %s\n", t.paint(dim, fmt.Sprintf("%d |", f.Script.Line)), cut(source, maxSourceLine))
		}
	}
}

// indent returns a text whose further lines are indented below the first.
func indent(text string) string {
	return strings.ReplaceAll(printable.Text(strings.TrimSpace(text)), "\n", "\n      ")
}

// cut returns the beginning of a text.
func cut(text string, characters int) string {
	runes := []rune(text)
	if len(runes) <= characters {
		return text
	}
	return string(runes[:characters]) + "..."
}

// Close writes the slowest cases and the counts.
func (t *text) Close(s Summary) error {
	var b bytes.Buffer
	if len(s.Slowest) > 0 {
		fmt.Fprintln(&b, "slowest:")
		for _, r := range s.Slowest {
			fmt.Fprintf(&b, "%10s  %s: %s\n", seconds(r.Duration), printable.Line(place(r)), printable.Line(r.Name))
		}
	}
	colour := green
	if s.Counts[controllertest.Failed]+s.Counts[controllertest.Errored] > 0 {
		colour = red
	}
	fmt.Fprintln(&b, t.paint(bold+colour, s.String()))
	_, err := t.out.Write(b.Bytes())
	return err
}
