package livedefinition

import (
	"fmt"
	"io"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// Write writes a status for people.
func (s *RolloutStatus) Write(out io.Writer) error {
	w := &lines{out: out}
	w.linef("%s", s.Short())
	for _, named := range []struct{ name, id string }{
		{servingName(s.Updated), s.Revision}, {"updated", s.Updated}, {"held", s.Held}, {"failed", s.Failed}, {"pinned", s.Pinned},
	} {
		if named.id != "" && !(named.name == "serves" && s.Complete()) { // The first line has it.
			w.linef("  %-8s %s", named.name, shortID(named.id))
		}
	}
	for i, line := range strings.Split(s.Message, "\n") {
		name := ""
		if i == 0 {
			name = "why"
		}
		if line != "" {
			w.linef("  %-8s %s", name, line)
		}
	}
	for _, next := range s.Next {
		w.linef("  %-8s %s", "next", next)
	}
	return w.err
}

// servingName returns what a revision is called that serves while another one is rolled out, or none is.
func servingName(updated string) string {
	if updated != "" {
		return "stable"
	}
	return "serves"
}

// lines writes lines, which hold no control characters of others.
type lines struct {
	out io.Writer
	err error
}

func (w *lines) linef(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintln(w.out, strings.TrimRight(printable.Line(fmt.Sprintf(format, args...)), " "))
	}
}

// Write writes a change for people: dry runs are named, and have no notes.
func (c *Change) Write(out io.Writer, dryRun DryRun) error {
	w := &lines{out: out}
	switch dryRun {
	case DryRunClient:
		w.linef("%s (dry run)", c.Done)
	case DryRunServer:
		w.linef("%s (server dry run)", c.Done)
	default:
		w.linef("%s", c.Done)
		for _, note := range c.Notes {
			w.linef("  %s", note)
		}
	}
	return w.err
}
