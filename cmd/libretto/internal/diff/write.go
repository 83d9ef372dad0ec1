package diff

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// signs are how actions begin in a diff, and their colours.
var signs = map[preview.Action]struct{ sign, colour string }{
	preview.Delete: {"-", "\x1b[31m"}, preview.Recreate: {"-/+", "\x1b[31m"},
	preview.Release: {"~", "\x1b[33m"}, preview.Adopt: {"~", "\x1b[33m"},
	preview.Update: {"~", "\x1b[33m"}, preview.Create: {"+", "\x1b[32m"}, preview.Status: {"~", "\x1b[33m"}, preview.Leave: {"=", "\x1b[36m"},
}

const (
	failedColour = "\x1b[1;31m"
	endOfColour  = "\x1b[0m"
)

// How many names are written of a group. All that is lost is named, up to a number that nobody reads.
const (
	maxNames = 3
	maxLost  = 50
)

// Text writes reports for people: what is lost first, and last the counts, and what a host would say of the edit.
func Text(out io.Writer, reports []*Report, colour bool) error {
	w := bufio.NewWriter(out)
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n\n", printable.Line(r.Definition))
		r.text(w, colour)
		fmt.Fprintln(w, r.Summary())
		if r.Edit.Sentence != "" {
			fmt.Fprintln(w, printable.Line(r.Edit.Sentence))
		}
	}
	return w.Flush()
}

func (r *Report) text(w *bufio.Writer, colour bool) {
	line := func(text, of string) {
		if text = printable.Line(text); colour {
			text = of + text + endOfColour
		}
		fmt.Fprintln(w, text)
	}
	held, others := editLines(r.Edit)
	for _, text := range held {
		line(text, failedColour)
	}
	for _, text := range others {
		line(text, signs[preview.Leave].colour)
	}
	edited := len(held)+len(others) > 0
	if edited && len(r.order)+len(r.failed)+len(r.waiting) > 0 {
		fmt.Fprintln(w)
	}
	for _, g := range r.sorted() {
		objects, of := cli.Count(len(g.objects), g.kind), cli.Count(g.parents, "parent")
		line(fmt.Sprintf("%s %s %s of %s%s", signs[g.action].sign, g.action, objects, of, g.ending()), signs[g.action].colour)
		for _, f := range g.fields {
			fmt.Fprintf(w, "      %s\n", printable.Line(f.String()))
		}
		for _, name := range shortened(g.objects, g.action.Destroys()) {
			fmt.Fprintf(w, "    %s\n", printable.Line(name))
		}
	}
	several := func(all []*failure, sign, verb, colour string) {
		for _, f := range all {
			line(fmt.Sprintf("%s %s: %s", sign, verbOf(len(f.parents), verb), f.err), colour)
			for _, name := range shortened(f.parents, false) {
				fmt.Fprintf(w, "    %s\n", printable.Line(name))
			}
		}
	}
	several(r.waiting, signs[preview.Leave].sign, "wait", signs[preview.Leave].colour)
	several(r.failed, "!", "fail", failedColour)
	if r.Err != nil {
		line("! "+r.Err.Error(), failedColour)
	}
	if len(r.order)+len(r.failed)+len(r.waiting) > 0 || r.Err != nil || edited {
		fmt.Fprintln(w)
	}
}

func verbOf(parents int, verb string) string {
	if parents == 1 {
		return "1 parent " + verb + "s"
	}
	return fmt.Sprintf("%d parents %s", parents, verb)
}

// ending returns what follows the first line of a group.
func (g *group) ending() string {
	if g.note == "" {
		return ""
	}
	return ": " + g.note
}

// String returns one line: the path, and how it changes.
func (f field) String() string {
	if f.varies {
		return f.Diff.String() + ", and others to other values"
	}
	return f.Diff.String()
}

// shortened returns the first names, and how many there are besides.
func shortened(names []string, lost bool) []string {
	limit := maxNames
	if lost {
		limit = maxLost
	}
	if len(names) <= limit+1 {
		return names
	}
	return append(names[:limit:limit], fmt.Sprintf("and %d more", len(names)-limit))
}

// Markdown writes reports for a pull request.
func Markdown(out io.Writer, reports []*Report) error {
	w := bufio.NewWriter(out)
	for i, r := range reports {
		if i > 0 {
			fmt.Fprintln(w)
		}
		var b strings.Builder
		body := bufio.NewWriter(&b)
		r.text(body, false)
		if err := body.Flush(); err != nil {
			return err
		}
		text, fence := b.String(), "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		fmt.Fprintf(w, "### %s\n\n**%s**\n", printable.Line(r.Definition), r.Summary())
		if text = strings.TrimSpace(text); text != "" {
			fmt.Fprintf(w, "\n%sdiff\n%s\n%s\n", fence, text, fence)
		}
		if r.Edit.Sentence != "" {
			fmt.Fprintf(w, "\n    %s\n", printable.Line(r.Edit.Sentence))
		}
	}
	return w.Flush()
}

// document is a report as JSON.
type document struct {
	Definition string `json:"definition"`
	// Error is why the definition could not be compared, or not with all its parents.
	Error    string            `json:"error,omitempty"`
	Summary  string            `json:"summary"`
	Parents  int               `json:"parents"`
	Classes  map[Class]int     `json:"classes"`
	Changes  []changeDocument  `json:"changes"`
	Failures []failureDocument `json:"failures"`
	// Edit is what a host would make of the edit.
	Edit rollout.Verdict `json:"edit,omitzero"`
	// Waiting are what hooks wait for: the children of these parents stay as they are.
	Waiting []failureDocument `json:"waiting,omitempty"`
}

type changeDocument struct {
	Action  preview.Action  `json:"action"`
	Kind    string          `json:"kind"`
	Parents int             `json:"parents"`
	Objects []string        `json:"objects"`
	Fields  []fieldDocument `json:"fields,omitempty"`
	Note    string          `json:"note,omitempty"`
}

type fieldDocument struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	// Varies is set if other objects of the group have other values. These are of the first.
	Varies bool `json:"varies,omitempty"`
}

type failureDocument struct {
	Error   string   `json:"error"`
	Parents []string `json:"parents"`
}

// JSON writes reports as a list.
func JSON(out io.Writer, reports []*Report) error {
	all := []document{}
	for _, r := range reports {
		d := document{
			Definition: r.Definition, Summary: r.Summary(), Parents: r.Parents, Classes: map[Class]int{}, Changes: []changeDocument{},
			Failures: []failureDocument{}, Edit: r.Edit,
		}
		if r.Err != nil {
			d.Error = r.Err.Error()
		}
		for _, class := range classes {
			d.Classes[class] = r.Classes[class]
		}
		for _, g := range r.sorted() {
			c := changeDocument{Action: g.action, Kind: g.kind, Parents: g.parents, Objects: g.objects, Note: g.note}
			for _, f := range g.fields {
				c.Fields = append(c.Fields, fieldDocument{f.Path, f.From, f.To, f.varies})
			}
			d.Changes = append(d.Changes, c)
		}
		for _, f := range r.failed {
			d.Failures = append(d.Failures, failureDocument{f.err, f.parents})
		}
		for _, f := range r.waiting {
			d.Waiting = append(d.Waiting, failureDocument{f.err, f.parents})
		}
		all = append(all, d)
	}
	return cli.WriteJSON(out, all)
}
