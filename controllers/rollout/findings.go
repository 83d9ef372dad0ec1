package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// maxErrorBytes bounds the error of a parent.
const maxErrorBytes = 512

// Action is how a child is destroyed.
type Action string

// The actions.
const (
	Delete   Action = "delete"
	Recreate Action = "recreate"
)

// Effect is what a pass over one parent comes to that counts.
type Effect struct {
	Parent apply.Key
	// Destroyed are the children that are deleted or recreated.
	Destroyed map[apply.Key]Action
	// Err is why the parent fails, or nil.
	Err error
}

// Batch is what the new scripts would do to some parents that counts.
type Batch struct {
	parents map[apply.Key]*unstructured.Unstructured
	// children are the numbers of the children of the parents that could be previewed.
	children  map[schema.GroupKind]int
	destroyed map[apply.Key]Action    // children by what is done to them
	owners    map[apply.Key]apply.Key // of destroyed
	failing   map[apply.Key]error
	// failed are parents that fail too, if nobody can say whether they did before.
	failed  map[apply.Key]error
	unknown map[apply.Key]error
}

// Children are the numbers of children by the UIDs of their parents and by kind.
type Children = map[types.UID]map[schema.GroupKind]int

// NewBatch returns the effects of one pass over each of some parents, which have so many children.
func NewBatch(parents []*unstructured.Unstructured, children Children, effects []Effect) *Batch {
	b := &Batch{
		parents: map[apply.Key]*unstructured.Unstructured{}, destroyed: map[apply.Key]Action{}, owners: map[apply.Key]apply.Key{},
		failing: map[apply.Key]error{}, unknown: map[apply.Key]error{}, children: map[schema.GroupKind]int{},
	}
	for _, object := range parents {
		b.parents[apply.KeyOf(object)] = object
	}
	for _, o := range effects {
		if o.Err != nil && IsUnknown(o.Err) {
			b.unknown[o.Parent] = o.Err
			continue
		}
		if object := b.parents[o.Parent]; object != nil {
			for kind, n := range children[object.GetUID()] {
				b.children[kind] += n
				b.children[anyKind] += n
			}
		}
		if o.Err != nil {
			b.failing[o.Parent] = o.Err
		}
		for key, action := range o.Destroyed {
			if key != o.Parent {
				b.destroyed[key], b.owners[key] = action, o.Parent
			}
		}
	}
	return b
}

// count returns how many children the action befalls.
func (b *Batch) count(action Action) int {
	n := 0
	for _, a := range b.destroyed {
		if a == action {
			n++
		}
	}
	return n
}

// Affected returns the parents that fail or lose children, of those that include selects.
func (b *Batch) Affected(include func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	keys := map[apply.Key]bool{}
	for key := range b.failing {
		keys[key] = true
	}
	for _, owner := range b.owners {
		keys[owner] = true
	}
	var all []*unstructured.Unstructured
	for key := range keys {
		if object := b.parents[key]; object != nil && include(object) {
			all = append(all, object)
		}
	}
	return all
}

// Subtract drops what the scripts that serve would do as well.
func (b *Batch) Subtract(before []Effect) {
	for _, o := range before {
		if o.Err != nil && !IsUnknown(o.Err) {
			delete(b.failing, o.Parent)
		}
		for key := range o.Destroyed {
			delete(b.destroyed, key)
		}
	}
}

// IgnoreNewParents drops the failures of objects that are no parents of the definition that serves: none of them succeeds now.
func (b *Batch) IgnoreNewParents(isParent func(*unstructured.Unstructured) bool) {
	for key := range b.failing {
		if object := b.parents[key]; object != nil && !isParent(object) {
			delete(b.failing, key)
		}
	}
}

// AssumeNoBaseline is for scripts that there is nothing to compare with. It drops what parents lose that are being deleted, or are none any
// more, and notes failures apart.
func (b *Batch) AssumeNoBaseline(isParent func(*unstructured.Unstructured) bool) {
	for key, owner := range b.owners {
		if object := b.parents[owner]; object != nil && (object.GetDeletionTimestamp() != nil || !isParent(object)) {
			delete(b.destroyed, key)
		}
	}
	b.failed, b.failing = b.failing, nil
}

// Findings are what the new scripts would do that counts, to all parents that were previewed. They take the same memory for any number.
type Findings struct {
	// Total is the number of all parents, Known of those that could be previewed, Unknown of those that could not, and failing of those
	// that fail and did not. Uncalled are those of Unknown for which hooks were not called, which is left to the Guard: unmade because of
	// calls that take too long. busy are those for which the host had no worker. Late are those of failing with such calls.
	Total, Known, Unknown, Uncalled, Late int
	failing, unmade, busy                 int
	// children are the numbers of the children of Known by kind, and destroyed those that are destroyed.
	children  map[schema.GroupKind]int
	destroyed map[destruction]*destroyed
	// gone are those of both that an earlier edit has destroyed.
	gone Gone

	// failed is the number of those that fail if nobody can say whether they did before.
	failed int

	firstFailing, firstFailed, firstUnknown, firstUncalled named
}

// destruction is what children are counted by.
type destruction struct {
	kind   schema.GroupKind
	action Action
}

// anyAction stands for each one that destroys.
const anyAction Action = ""

// anyKind stands for all kinds.
var anyKind schema.GroupKind

// destroyed are children that are destroyed, and their parents.
type destroyed struct {
	children, parents int
	first             named
}

// NewFindings returns findings about no parents yet.
func NewFindings() *Findings {
	return &Findings{children: map[schema.GroupKind]int{}, destroyed: map[destruction]*destroyed{}, gone: Gone{}}
}

// named is an object, and the error of a parent.
type named struct {
	key apply.Key
	err error
}

// keep keeps the first one by namespace and name, so that equal findings have equal messages. An error without an object, of which the key
// is zero, is kept only if there is nothing else.
func (n *named) keep(key apply.Key, err error) {
	none := apply.Key{}
	switch {
	case key == none && (n.key != none || n.err != nil):
		return
	case n.key == none, cmp.Or(
		cmp.Compare(key.Namespace, n.key.Namespace), cmp.Compare(key.Name, n.key.Name), cmp.Compare(key.Kind.Kind, n.key.Kind.Kind)) < 0:
		*n = named{key, err}
	}
}

// String returns the name, and the error in a line.
func (n named) String() string {
	if n.err == nil {
		return n.key.String()
	}
	return n.key.String() + ": " + line(n.err)
}

// reason returns the error, with the first object that it is about, if that is known.
func (n named) reason() string {
	if n.key == (apply.Key{}) {
		return "as " + line(n.err)
	}
	return "first " + n.String()
}

// Add adds what is known of a batch.
func (f *Findings) Add(b *Batch) {
	f.Known += len(b.parents) - len(b.unknown)
	f.Unknown += len(b.unknown)
	f.failing += len(b.failing)
	for kind, n := range b.children {
		f.children[kind] += n
	}
	f.addDestroyed(b, map[destruction]map[apply.Key]bool{})
	for key, err := range b.failing {
		if f.firstFailing.keep(key, err); IsLate(err) {
			f.Late++
		}
	}
	f.failed += len(b.failed)
	for key, err := range b.failed {
		if f.firstFailed.keep(key, err); IsLate(err) {
			f.Late++
		}
	}
	for key, err := range b.unknown {
		f.addUnknown(key, err, 1)
	}
}

// addDestroyed adds the children that are destroyed, and their parents unless these are counted already, by kind and action.
func (f *Findings) addDestroyed(b *Batch, counted map[destruction]map[apply.Key]bool) {
	for key, action := range b.destroyed {
		for by, d := range f.destroyedBy(key.Kind.GroupKind(), action) {
			if counted[by] == nil {
				counted[by] = map[apply.Key]bool{}
			}
			owner := b.owners[key]
			d.children++
			d.first.keep(key, nil)
			if !counted[by][owner] {
				counted[by][owner] = true
				d.parents++
			}
		}
	}
}

// AddGone adds children that are gone already, of the kinds of which the edit destroys some: they count with these. Of those of all parents
// a sample has its share.
func (f *Findings) AddGone(gone Gone) {
	destroyed := map[schema.GroupKind]bool{}
	for by := range gone {
		destroyed[by.kind] = f.countOf(by.kind, anyAction) > 0
	}
	for by, n := range gone {
		if !destroyed[by.kind] {
			continue
		}
		n = n * f.Known / max(f.Known, f.Total)
		f.addGone(by, n)
		for _, kind := range []schema.GroupKind{by.kind, anyKind} {
			f.children[kind] += n
			f.gone[destruction{kind, by.action}] += n
			f.gone[destruction{kind, anyAction}] += n
		}
	}
}

// addGone adds destroyed children of which only the number is known.
func (f *Findings) addGone(by destruction, n int) {
	if n == 0 {
		return
	}
	for _, d := range f.destroyedBy(by.kind, by.action) {
		d.children += n
	}
}

// destroyedBy returns all that a child of a kind counts in once an action destroys it.
func (f *Findings) destroyedBy(kind schema.GroupKind, action Action) map[destruction]*destroyed {
	all := map[destruction]*destroyed{}
	for _, by := range []destruction{{anyKind, anyAction}, {anyKind, action}, {kind, anyAction}, {kind, action}} {
		if f.destroyed[by] == nil {
			f.destroyed[by] = &destroyed{}
		}
		all[by] = f.destroyed[by]
	}
	return all
}

// adds reports whether something is destroyed by an action that was not before.
func (f *Findings) adds(action Action) bool {
	return f.countOf(anyKind, action) > f.gone[destruction{anyKind, action}]
}

// countOf returns how many children are destroyed by an action, or by any.
func (f *Findings) countOf(kind schema.GroupKind, action Action) int {
	if d := f.destroyed[destruction{kind, action}]; d != nil {
		return d.children
	}
	return 0
}

// AddUnknown adds parents of which nothing is known, for one reason.
func (f *Findings) AddUnknown(parents int, why error) {
	if f.Unknown += parents; parents > 0 {
		f.addUnknown(apply.Key{}, why, parents)
	}
}

// addUnknown adds why parents are unknown.
func (f *Findings) addUnknown(key apply.Key, err error, parents int) {
	var uncalled SkippedCallError
	switch {
	case errors.As(err, &uncalled), errors.Is(err, engines.ErrBackoff):
		f.firstUncalled.keep(key, err)
		if f.Uncalled += parents; uncalled == ErrLate {
			f.unmade += parents
		}
	default:
		if f.firstUnknown.keep(key, err); errors.Is(err, engines.ErrNoWorker) {
			f.busy += parents
		}
	}
}

// Held returns why a rule holds the edit, or "". What is unknown is not taken for harmless.
func (f *Findings) Held(r Rule) string {
	violations := r.violations(f)
	if f.IsInconclusive() {
		violations = append(violations, fmt.Sprintf("%s could not be previewed, %s", f.parents(f.Unknown-f.Uncalled), f.firstUnknown.reason()))
	}
	return strings.Join(violations, "; ")
}

// IsInconclusive reports whether parents for which hooks would be called could not be previewed.
func (f *Findings) IsInconclusive() bool { return f.Unknown > f.Uncalled }

// MayPass reports whether something that counts against the edit may pass without another one: it is unknown, or a parent fails, which may
// be mended. Calls that take too long are not made again and again.
func (f *Findings) MayPass() bool { return f.IsInconclusive() || f.failing > 0 && f.Late == 0 }

// IsBusy reports whether an edit that is harmless so far could be previewed whole if the host had the time.
func (f *Findings) IsBusy(r Rule) bool {
	return f.busy > 0 && f.busy == f.Unknown-f.Uncalled && len(r.violations(f)) == 0
}

// Summary returns how many parents were previewed, and why others could not be.
func (f *Findings) Summary() string {
	text := fmt.Sprintf("previewed on %d of %d parents", f.Known, f.Total)
	if f.failed > 0 {
		text += fmt.Sprintf("; %d of them fail, and perhaps did before, first %s", f.failed, f.firstFailed)
	}
	switch {
	case f.IsInconclusive():
		text += fmt.Sprintf("; %d could not be previewed, %s", f.Unknown, f.firstUnknown.reason())
	case f.Unknown > 0:
		text += fmt.Sprintf("; %d could not be previewed, %s", f.Unknown, f.firstUncalled.reason())
	}
	return text
}

// Destroys reports whether a child would be deleted or recreated.
func (f *Findings) Destroys() bool { return f.countOf(anyKind, anyAction) > 0 }

// HasChildren reports whether parents that were previewed have children.
func (f *Findings) HasChildren() bool { return f.children[anyKind] > 0 }

// describeDestroyed tells which children would be destroyed by an action, or by any. more is what that exceeds, or empty.
func (f *Findings) describeDestroyed(kind schema.GroupKind, action Action, more string) string {
	var parts []string
	for _, a := range []Action{Delete, Recreate} {
		if n := f.countOf(kind, a); n > 0 && (action == anyAction || action == a) {
			parts = append(parts, fmt.Sprintf("%s %d", a, n))
		}
	}
	children := "children"
	if kind != anyKind {
		children = "children of kind " + kind.Kind
	}
	d := f.destroyed[destruction{kind, action}]
	text := fmt.Sprintf("it would %s of %d %s of %s%s, first %s",
		strings.Join(parts, " and "), f.children[kind], children, f.parents(d.parents), more, d.first)
	if n := f.gone[destruction{kind, action}]; n > 0 {
		are := "are"
		if n == 1 {
			are = "is"
		}
		text += fmt.Sprintf("; %d of them %s gone since an earlier edit", n, are)
	}
	return text
}

// failure tells which parents would fail.
func (f *Findings) failure(more string) string {
	return fmt.Sprintf("%s that succeed now would fail%s, first %s", f.parents(f.failing), more, f.firstFailing)
}

// parents returns how many parents something is about, and of how many.
func (f *Findings) parents(count int) string {
	text := fmt.Sprintf("%d of %d parents", count, f.Known+f.Unknown)
	if f.Total > f.Known+f.Unknown {
		text += fmt.Sprintf(" (a sample of %d)", f.Total)
	}
	return text
}

func line(err error) string { return engines.Truncate(printable.Line(err.Error()), maxErrorBytes) }
