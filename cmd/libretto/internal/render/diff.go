package render

import (
	"bufio"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// mark is how an action begins in a diff.
type mark struct{ sign, colour string }

var marks = map[string]mark{
	"create": {"+", "\x1b[32m"}, "delete": {"-", "\x1b[31m"}, actionRecreate: {"-/+", "\x1b[31m"},
	actionLeave: {"=", "\x1b[36m"}, actionWait: {"=", "\x1b[36m"},
}

var (
	changeMark = mark{"~", "\x1b[33m"}
	failedMark = mark{"!", "\x1b[1;31m"}
)

const endOfColour = "\x1b[0m"

// Diff writes what the host does in each pass, and what it leaves in the end. Secrets are hidden in any case.
func (o Output) Diff(renderings []*Rendering) error {
	w := bufio.NewWriter(o.Out)
	for _, r := range renderings {
		fmt.Fprintf(w, "# %s of %s\n", printable.Line(r.Name()), printable.Line(r.Definition.GetKind()+" "+r.Definition.GetName()))
		idle := true
		for i, step := range r.Steps {
			actions := o.actions(r, step)
			if len(actions) > 0 && len(r.Steps) > 1 {
				fmt.Fprintf(w, "# pass %d\n", i+1)
			}
			for _, action := range actions {
				o.writeAction(w, action)
				idle = false
			}
		}
		for _, left := range r.Left {
			o.writeAction(w, o.left(r, left))
			idle = false
		}
		switch {
		case r.Err() != nil:
			fmt.Fprintln(w, "# the last pass fails, and what else is to be done is not known")
		case idle:
			fmt.Fprintln(w, "# nothing to do")
		}
	}
	return w.Flush()
}

func (o Output) writeAction(w *bufio.Writer, a Action) {
	m, known := marks[a.Action]
	if !known {
		m = changeMark
	}
	line := fmt.Sprintf("%s %s", a.Action, a.Object)
	switch {
	case a.Error != "":
		m = failedMark
		line += ": " + a.Error
	case a.Reason != "":
		line += ": " + a.Reason
	}
	line = m.sign + " " + printable.Line(line)
	if o.Colour {
		line = m.colour + line + endOfColour
	}
	fmt.Fprintln(w, line)
	for _, field := range a.Fields {
		fmt.Fprintf(w, "    %s\n", printable.Line(field))
	}
	for _, path := range a.Dropped {
		fmt.Fprintf(w, "    %s: the API server does not store it\n", printable.Line(path))
	}
	if a.Manifest != nil {
		text, err := yaml.Marshal(a.Manifest)
		if err != nil {
			fmt.Fprintf(w, "    %v\n", err)
			return
		}
		for line := range strings.Lines(printable.Text(string(text))) {
			fmt.Fprintf(w, "    %s", line)
		}
	}
}

// Report writes about each parent what is no object: status, events, lines of hooks and the time of the next sync.
func (o Output) Report(renderings []*Rendering) error {
	w := bufio.NewWriter(o.Out)
	several := slices.ContainsFunc(renderings, func(r *Rendering) bool { return r.Definition != renderings[0].Definition })
	for _, r := range renderings {
		name := r.Name()
		if several {
			name += " of " + apply.KeyOf(r.Definition).String()
		}
		fmt.Fprintf(w, "%s:\n", name)
		for i, step := range r.Steps {
			prefix := "  "
			if len(r.Steps) > 1 {
				prefix = fmt.Sprintf("  pass %d: ", i+1)
			}
			for _, call := range step.Calls {
				for _, line := range o.lines(r, call.Logs) {
					fmt.Fprintf(w, "%s%s hook: %s\n", prefix, call.Hook, line)
				}
			}
			for _, event := range step.Events {
				fmt.Fprintf(w, "%sevent %s %s: %s\n", prefix, event.Type, event.Reason, event.Message)
			}
			for _, write := range step.Writes {
				for _, path := range write.Dropped {
					if !isToldBy(step.Events, path) {
						fmt.Fprintf(w, "%swarning: %s: the API server does not store %s\n",
							prefix, write.Key().String(), path)
					}
				}
			}
			if step.Err != nil && i < len(r.Steps)-1 {
				fmt.Fprintf(w, "%sfails: %v\n", prefix, step.Err)
			}
		}
		o.reportEnd(w, r)
	}
	return w.Flush()
}

// isToldBy reports whether an event names a field that the API server drops.
func isToldBy(events []simulation.Event, path string) bool {
	return slices.ContainsFunc(events, func(e simulation.Event) bool {
		return (e.Reason == variant.ReasonStatusNotStored || e.Reason == variant.ReasonFieldsNotStored) && strings.Contains(e.Message, " "+path)
	})
}

// reportEnd writes how a parent is in the end.
func (o Output) reportEnd(w *bufio.Writer, r *Rendering) {
	switch {
	case r.Parent == nil:
		fmt.Fprintf(w, "  it is gone after %s\n", count(len(r.Steps), "pass", "passes"))
		return
	case o.status(r) != nil:
		text, err := yaml.Marshal(map[string]any{"status": o.status(r)})
		if err != nil {
			text = []byte(err.Error() + "\n")
		}
		for line := range strings.Lines(string(text)) {
			fmt.Fprintf(w, "  %s", line)
		}
	}
	for _, wait := range r.Waits {
		fmt.Fprintf(w, "  it waits: %s\n", wait)
	}
	last := r.last()
	switch {
	case errors.Is(last.Err, controller.ErrLater):
		fmt.Fprintf(w, "  the last pass is repeated soon: %v\n", last.Err)
	case last.Err != nil:
		fmt.Fprintln(w, "  the last pass fails, and is repeated")
	case last.RequeueAfter > 0:
		fmt.Fprintf(w, "  next sync in %s, or when something changes\n", last.RequeueAfter)
	default:
		fmt.Fprintln(w, "  next sync when something changes")
	}
}

func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
