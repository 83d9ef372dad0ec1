package livedefinition

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

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

// Write writes the revisions as a table.
func (h *History) Write(out io.Writer, now time.Time) error {
	w := &lines{out: out}
	if len(h.Revisions) == 0 {
		w.linef("%s: no revision is archived", h.Definition)
		return w.err
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "REVISION\tID\tAGE\tTESTS\tSTATE")
	for _, r := range h.Revisions {
		number, age, tests := "-", "-", "-"
		if r.Created != nil {
			number, age = fmt.Sprint(r.Number), duration.HumanDuration(now.Sub(*r.Created))
		}
		if r.TestsPassed {
			tests = "passed"
		}
		states := strings.Join(r.States, ", ")
		if r.Created == nil {
			states += " (not archived)"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", number, shortID(r.ID), age, tests, states)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(text.String()) {
		w.linef("%s", strings.TrimSuffix(line, "\n"))
	}
	return w.err
}

// RevisionFiles is a revision with its files.
type RevisionFiles struct {
	Definition string `json:"definition"`
	Revision
	Files map[string]string `json:"files"`
	// Hooks are what the definition said of its script hooks.
	Hooks json.RawMessage `json:"hooks,omitempty"`
}

// texts returns the files, and the hooks as others: their settings, and each inline script. Their names are none of files.
func (f *RevisionFiles) texts() map[string]string {
	texts := maps.Clone(f.Files)
	if len(f.Hooks) == 0 {
		return texts
	}
	if texts == nil {
		texts = map[string]string{}
	}
	var hooks map[string]map[string]any
	if err := json.Unmarshal(f.Hooks, &hooks); err != nil {
		texts["(hooks)"] = string(f.Hooks)
		return texts
	}
	for name, hook := range hooks {
		if inline, _ := hook["Inline"].(string); inline != "" {
			texts["(inline script of "+name+")"] = inline
			hook["Inline"] = "shown by itself"
		}
	}
	settings, err := json.MarshalIndent(hooks, "", "  ")
	if err != nil {
		settings = f.Hooks
	}
	texts["(hooks)"] = string(settings) + "\n"
	return texts
}

// Write writes which files there are.
func (f *RevisionFiles) Write(out io.Writer, now time.Time) error {
	w := &lines{out: out}
	states := ""
	if len(f.States) > 0 {
		states = ": " + strings.Join(f.States, ", ")
	}
	age := duration.HumanDuration(now.Sub(*f.Created))
	w.linef("%s: revision %d (%s), archived %s ago%s", f.Definition, f.Number, shortID(f.ID), age, states)
	texts := f.texts()
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		text := texts[path]
		plural := "s"
		if len(linesOf(text)) == 1 {
			plural = ""
		}
		w.linef("  %s: %d line%s, %d bytes", path, len(linesOf(text)), plural, len(text))
	}
	return w.err
}
