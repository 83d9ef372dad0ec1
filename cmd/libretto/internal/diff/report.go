// Package diff implements libretto diff: it gathers what a definition would do with its parents, and writes it for people and for programs.
package diff

import (
	"fmt"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
)

// Report is what a definition would do with all its parents. It takes memory for the names of what changes and for one
// example of each kind of change, and not for objects.
type Report struct {
	// Definition is its kind and name.
	Definition string
	// Err is why nothing more is known, or nil.
	Err error
	// Edit is what a host would make of the edit.
	Edit rollout.Verdict
	// Parents is how many there are, and Classes counts them by the worst that the edit does to each.
	Parents int
	Classes map[Class]int

	groups   map[groupKey]*group
	order    []*group
	shapes   map[shapesKey]int
	failures map[string]*failure
	texts    map[string]int // by the group of failures
	failed   []*failure
	waiting  []*failure
}

// editLines returns what a host would make of the edit: why it would be held, and what else is to be said.
func editLines(e rollout.Verdict) (held, others []string) {
	switch {
	case e.Held != "":
		held = append(held, fmt.Sprintf("! a host would hold this edit, unless it runs with --script-preview=false: %s (%s)", e.Held, e.Basis),
			"    to let revision "+e.ShortRevision()+" through: "+e.Approve)
	case e.Waits:
		others = append(others, fmt.Sprintf("= a host would not begin with this edit, revision %s: %s", e.ShortRevision(), e.Basis))
	case e.Revision != "":
		others = append(others, fmt.Sprintf("= a host would let this edit through, revision %s: %s", e.ShortRevision(), e.Basis))
	}
	if e.LetsGo != "" {
		held = append(held, "! "+e.LetsGo)
	}
	if n := e.Deselected; n > 0 {
		are, them, their := "are", "them", "their"
		if n == 1 {
			are, them, their = "is", "it", "its"
		}
		held = append(held, fmt.Sprintf("! %s %s selected no more: what was made for %s stays and is not updated any more: "+
			"correct the selector or %s labels, or delete what is not wanted by hand", cli.Count(n, "parent"), are, them, their))
	}
	for _, resource := range e.Dropped {
		others = append(others, "= "+resource+" are no children any more: those that are there stay as they are until their parents are deleted")
	}
	return held, others
}

// Class is the worst that an edit does to a parent.
type Class string

// The classes, the worst last.
const (
	Unchanged Class = "unchanged"
	// StatusOnly is for parents of which the status alone changes.
	StatusOnly Class = "status"
	Updated    Class = "update"
	Recreated  Class = "recreate"
	Deleted    Class = "delete"
	Failing    Class = "fail"
)

// classes are all classes, the worst last.
var classes = []Class{Unchanged, StatusOnly, Updated, Recreated, Deleted, Failing}

// classOf returns the class of a parent with such a change.
func classOf(action preview.Action) Class {
	switch action {
	case preview.Delete:
		return Deleted
	case preview.Recreate:
		return Recreated
	case preview.Status:
		return StatusOnly
	case preview.Leave:
		return Unchanged
	default:
		return Updated
	}
}

// New returns a report without parents.
func New(definition string) *Report {
	return &Report{
		Definition: definition, Classes: map[Class]int{},
		groups: map[groupKey]*group{}, shapes: map[shapesKey]int{}, failures: map[string]*failure{}, texts: map[string]int{},
	}
}

// groupKey identifies changes of one shape: the same action on objects of one kind, in the same fields.
type groupKey struct {
	action preview.Action
	kind   string
	fields string
	note   string
}

// shapesKey counts the shapes of one action on one kind.
type shapesKey struct {
	action preview.Action
	kind   string
}

// maxShapes is how many shapes of one action on one kind are shown each. The rest is one group.
const maxShapes = 20

// maxFailures is how many errors, and how many reasons to wait, are shown each. The rest is one group.
const maxFailures = 20

// group is changes of one shape.
type group struct {
	groupKey
	objects []string
	parents int
	fields  []field
	last    int // the number of the parent of the last change
}

// field is a field that changes in all objects of a group.
type field struct {
	fielddiff.Diff
	// varies is set if it does not change in the same way in all of them. Diff is that of the first.
	varies bool
}

// failure is an error, or what is waited for, that parents have in common.
type failure struct {
	err     string
	parents []string
}

// addTo adds a parent to the failure with a text.
func (r *Report) addTo(all *[]*failure, group, text string, parent apply.Key) {
	f := r.failures[group+text]
	if f == nil && r.texts[group] >= maxFailures {
		text = "in other ways"
		f = r.failures[group+text]
	}
	if f == nil {
		r.texts[group]++
		f = &failure{err: text}
		r.failures[group+text] = f
		*all = append(*all, f)
	}
	f.parents = append(f.parents, parent.String())
}

// Add adds the result for a parent.
func (r *Report) Add(o *preview.Result) {
	r.Parents++
	worst := Unchanged
	for _, change := range o.Changes {
		r.addChange(o, change)
		if class := classOf(change.Action); slices.Index(classes, class) > slices.Index(classes, worst) {
			worst = class
		}
	}
	if o.Err != nil {
		worst = Failing
		r.addTo(&r.failed, "", o.Err.Error(), o.Parent)
	}
	for _, wait := range o.Waits {
		r.addTo(&r.waiting, "waits ", wait.String(), o.Parent)
	}
	r.Classes[worst]++
}

func (r *Report) addChange(o *preview.Result, change preview.Change) {
	key := groupKey{action: change.Action, kind: change.Key.Kind.Kind, note: noteOf(o, change)}
	var paths []string
	for _, diff := range change.Fields {
		paths = append(paths, diff.Path)
	}
	key.fields = strings.Join(paths, "\n")
	g := r.groups[key]
	if shapes := (shapesKey{key.action, key.kind}); g == nil && r.shapes[shapes] == maxShapes {
		key = groupKey{action: key.action, kind: key.kind, note: "in other fields"}
		g, change.Fields = r.groups[key], nil
	} else if g == nil {
		r.shapes[shapes]++
	}
	if g == nil {
		g = &group{groupKey: key}
		for _, diff := range change.Fields {
			g.fields = append(g.fields, field{Diff: diff})
		}
		r.groups[key], r.order = g, append(r.order, g)
	}
	for i, diff := range change.Fields {
		if i < len(g.fields) {
			g.fields[i].varies = g.fields[i].varies || g.fields[i].Diff != diff
		}
	}
	g.objects = append(g.objects, nameOf(change.Key))
	if g.last != r.Parents {
		g.parents, g.last = g.parents+1, r.Parents
	}
}

// noteOf returns what is to be said about a change besides its fields.
func noteOf(o *preview.Result, change preview.Change) string {
	switch {
	case change.Action == preview.Leave && change.OnDelete:
		return "its update method is OnDelete: it changes when it is deleted and made anew"
	case change.Action == preview.Leave:
		return "it waits for its turn in the rollout"
	case change.Action == preview.Status && o.EndlessStatus:
		return "it changes in every pass"
	case change.Action == preview.Update && len(change.Fields) == 0:
		return "annotations of Libretto alone"
	default:
		return ""
	}
}

// nameOf returns the namespace and name of an object.
func nameOf(key apply.Key) string {
	if key.Namespace == "" {
		return key.Name
	}
	return key.Namespace + "/" + key.Name
}

// sorted returns the groups by action, kind, and the number of objects.
func (r *Report) sorted() []*group {
	all := slices.Clone(r.order)
	slices.SortStableFunc(all, func(a, b *group) int {
		if by := slices.Index(preview.Actions, a.action) - slices.Index(preview.Actions, b.action); by != 0 {
			return by
		}
		if by := strings.Compare(a.kind, b.kind); by != 0 {
			return by
		}
		return len(b.objects) - len(a.objects)
	})
	for _, g := range all {
		slices.Sort(g.objects)
	}
	return all
}

// Destroys reports whether anything would be deleted or recreated.
func (r *Report) Destroys() bool {
	return slices.ContainsFunc(r.order, func(g *group) bool { return g.action.Destroys() })
}

// Fails reports whether a parent fails.
func (r *Report) Fails() bool { return len(r.failed) > 0 }

// Summary returns one line that counts: parents by the worst that the edit does to them, and the objects that are lost.
func (r *Report) Summary() string {
	if r.Err != nil && r.Parents == 0 {
		return "not compared"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d unchanged", cli.Count(r.Parents, "parent"), r.Classes[Unchanged])
	for _, class := range classes[1:] {
		n := r.Classes[class]
		if n == 0 && class != Deleted && class != Updated {
			continue
		}
		fmt.Fprintf(&b, ", %d %s", n, class)
		if class == StatusOnly {
			b.WriteString(" only")
		}
		if lost := r.countOf(preview.Action(class)); lost != "" && (class == Deleted || class == Recreated) {
			b.WriteString(" " + lost)
		}
	}
	if r.Err != nil {
		b.WriteString("; not all were compared")
	}
	return b.String()
}

// countOf returns how many objects an action is about, by kind.
func (r *Report) countOf(action preview.Action) string {
	counts := map[string]int{}
	var kinds []string
	for _, g := range r.sorted() {
		if g.action == action {
			if counts[g.kind] == 0 {
				kinds = append(kinds, g.kind)
			}
			counts[g.kind] += len(g.objects)
		}
	}
	for i, kind := range kinds {
		kinds[i] = cli.Count(counts[kind], kind)
	}
	return strings.Join(kinds, " and ")
}
