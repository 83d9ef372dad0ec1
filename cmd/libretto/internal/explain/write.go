package explain

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

const (
	red, yellow, green, cyan = "\x1b[31m", "\x1b[33m", "\x1b[32m", "\x1b[36m"
	endOfColour              = "\x1b[0m"
)

// JSON writes the story as JSON.
func (s *Story) JSON(out io.Writer) error { return cli.WriteJSON(out, s) }

// Text writes the story for people: one line if the parent is as wanted, unless all is set.
func (s *Story) Text(out io.Writer, colour, all bool) error {
	w := &text{Writer: bufio.NewWriter(out), colour: colour}
	if s.AsWanted() && !all {
		for i := range s.Definitions {
			w.linef("", "%s is as wanted by %s", s.Parent, s.Definitions[i].inShort())
		}
		return w.Flush()
	}
	w.linef("", "%s", s.Parent)
	for i := range s.Definitions {
		w.definition(&s.Definitions[i])
	}
	if len(s.Events) > 0 {
		w.linef("", "\nevents, the last one first:")
	}
	for _, e := range s.Events {
		times := ""
		if e.Count > 1 {
			times = fmt.Sprintf(" (%d times)", e.Count)
		}
		w.linef("", "    %s %s %s: %s%s", e.Last, e.Type, e.Reason, e.Message, times)
	}
	return w.Flush()
}

// text writes lines, which hold no control characters of others.
type text struct {
	*bufio.Writer
	colour bool
}

func (w *text) linef(colour, format string, args ...any) {
	line, indent := fmt.Sprintf(format, args...), ""
	if strings.HasPrefix(line, "\n") {
		line, indent = line[1:], "\n"
	}
	if line = printable.Line(line); w.colour && colour != "" {
		line = colour + line + endOfColour
	}
	fmt.Fprintf(w, "%s%s\n", indent, line)
}

// inShort returns the definition, the number of children and the next pass.
func (d *Definition) inShort() string {
	line := d.Name
	if d.ScriptRevision != "" {
		line += " (scripts " + d.ScriptRevision
		if d.ScriptRevisionReason != newestServes {
			line += ": " + d.ScriptRevisionReason
		}
		line += ")"
	}
	kinds, unready := map[string]int{}, 0
	for _, child := range d.Children {
		kind, _, _ := strings.Cut(child.Object, " ")
		kinds[kind]++
		if child.NotReady != "" {
			unready++
		}
	}
	line += ": " + counted(kinds)
	if unready > 0 {
		line += fmt.Sprintf(", of which %d are not ready", unready)
	}
	return line + "; " + d.next()
}

// next returns when the parent is looked at again.
func (d *Definition) next() string {
	switch d.ResyncAfter {
	case "":
		return "looked at again when something changes"
	case "at once":
		return "looked at again at once"
	default:
		return "looked at again after " + d.ResyncAfter
	}
}

func (w *text) definition(d *Definition) {
	revision := ""
	if d.ScriptRevision != "" {
		revision = ", scripts " + d.ScriptRevision + ": " + d.ScriptRevisionReason
	}
	w.linef("", "\n%s%s", d.Name, revision)
	for _, c := range d.Conditions {
		w.linef(yellow, "  %s is %s: %s", c.Type, c.Status, strings.Trim(c.Reason+": "+c.Message, ": "))
	}
	if d.Error != "" {
		w.linef(red, "! it fails: %s", d.Error)
	}
	for _, c := range d.Changes {
		w.change(c)
	}
	if d.Rollout != "" {
		w.linef(cyan, "= the rollout: %s", d.Rollout)
	}
	for _, wait := range d.Waits {
		w.linef(cyan, "= a hook waits: %s", strings.Trim(wait.Reason+": "+wait.Message, ": "))
	}
	for _, child := range d.Children {
		if child.NotReady != "" {
			w.linef("", "  %s is as wanted, and not ready: %s", child.Object, child.NotReady)
		} else {
			w.linef("", "  %s is as wanted", child.Object)
		}
	}
	if d.Calls != nil {
		w.linef("", "hooks:")
	}
	for _, call := range d.Calls {
		w.call(call)
	}
	if d.Error == "" {
		w.linef("", "%s", d.next())
	}
}

// signs are how changes begin, and their colours.
var signs = map[preview.Action][2]string{
	preview.Delete: {"-", red}, preview.Recreate: {"-/+", red}, preview.Create: {"+", green}, preview.Leave: {"=", cyan},
}

func (w *text) change(c Change) {
	sign := [2]string{"~", yellow}
	if known, is := signs[c.Action]; is {
		sign = known
	}
	why := ""
	if c.Why != "" {
		why = ": " + c.Why
	}
	if strings.HasPrefix(c.Why, refused) {
		sign = [2]string{"!", red}
	}
	w.linef(sign[1], "%s %s %s%s", sign[0], c.Action, c.Object, why)
	for _, field := range c.Fields {
		w.linef("", "      %s", field)
	}
}

func (w *text) call(c Call) {
	subject, answer := "", "answered "+counted(c.Answered)
	if c.Subject != "" {
		subject = " of " + c.Subject
	}
	if c.Error != "" {
		answer = "failed: " + c.Error
	}
	w.linef("", "    %s%s was given %s, and %s", c.Hook, subject, counted(c.Given), answer)
	for _, line := range c.Logs {
		w.linef("", "      log: %s", line)
	}
	for _, part := range []struct {
		name  string
		value any
	}{{"request", c.Request}, {"response", c.Response}} {
		if part.value == nil {
			continue
		}
		w.linef("", "      %s:", part.name)
		lines, err := yaml.Marshal(part.value)
		if err != nil {
			lines = []byte(err.Error())
		}
		for _, line := range slices.Collect(strings.SplitSeq(strings.TrimRight(string(lines), "\n"), "\n")) {
			w.linef("", "        %s", line)
		}
	}
}
