package hosted

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/preview"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/printable"
	"github.com/libretto-k8s/libretto/scripts"
)

// minDestroyed is how many children an edit may always delete or recreate, and one more.
const minDestroyed = 2

// maxErrorBytes is how much is told of the error of a parent.
const maxErrorBytes = 512

// findings are what the new scripts would do that counts.
type findings struct {
	objects map[apply.Key]*unstructured.Unstructured // the parents
	// children is the number of children of the parents that could be previewed.
	children  int
	destroyed map[apply.Key]preview.Action // children by what becomes of them
	owners    map[apply.Key]apply.Key      // of destroyed
	failing   map[apply.Key]error
	unknown   map[apply.Key]error
}

func newFindings(sample *parent.Sample, outcomes []*preview.Outcome) *findings {
	f := &findings{
		objects: map[apply.Key]*unstructured.Unstructured{}, destroyed: map[apply.Key]preview.Action{}, owners: map[apply.Key]apply.Key{},
		failing: map[apply.Key]error{}, unknown: map[apply.Key]error{},
	}
	for _, object := range sample.Parents {
		f.objects[apply.KeyOf(object)] = object
	}
	for _, o := range outcomes {
		if o.Err != nil && isUnknown(o.Err) {
			f.unknown[o.Parent] = o.Err
			continue
		}
		if object := f.objects[o.Parent]; object != nil {
			f.children += sample.Children[object.GetUID()]
		}
		if o.Err != nil {
			f.failing[o.Parent] = o.Err
		}
		for _, change := range o.Changes {
			if change.Action.Destroys() && change.Key != o.Parent {
				f.destroyed[change.Key], f.owners[change.Key] = change.Action, o.Parent
			}
		}
	}
	return f
}

// isHarm reports whether the edit is to be held.
func (f *findings) isHarm() bool { return f.destroysTooMuch() || len(f.failing) > 0 }

func (f *findings) destroysTooMuch() bool {
	return len(f.destroyed) >= minDestroyed && 2*len(f.destroyed) > f.children
}

// excuse drops what the scripts that serve would do as well.
func (f *findings) excuse(before []*preview.Outcome) {
	for _, o := range before {
		if o.Err != nil && !isUnknown(o.Err) {
			delete(f.failing, o.Parent)
		}
		for _, change := range o.Changes {
			if change.Action.Destroys() {
				delete(f.destroyed, change.Key)
			}
		}
	}
}

// excuseNew drops the failures of objects that are no parents yet: none of them succeeds now.
func (f *findings) excuseNew(serving *definition.Plan) {
	for key := range f.failing {
		if object := f.objects[key]; object != nil && !isParent(serving, object) {
			delete(f.failing, key)
		}
	}
}

// preview returns what is to be told.
func (f *findings) preview(sample *parent.Sample) scripts.Preview {
	p := scripts.Preview{Unknown: len(f.unknown)}
	var harm []string
	if f.destroysTooMuch() {
		harm = append(harm, f.destruction(sample))
	}
	if len(f.failing) > 0 {
		harm = append(harm, f.failure(sample))
	}
	known := len(sample.Parents) - len(f.unknown)
	p.Summary = fmt.Sprintf("previewed on %d of %d parents", known, sample.Total)
	if len(f.unknown) > 0 {
		key := first(f.unknown)
		p.Summary += fmt.Sprintf("; nothing could be told of %d, first %s: %s", len(f.unknown), nameOf(key), line(f.unknown[key]))
	}
	p.Destroys = len(harm) == 0 && len(f.destroyed) > 0
	if len(harm) > 0 {
		p.Held = strings.Join(harm, "; ")
		if len(f.unknown) > 0 {
			p.Held += "; " + p.Summary
		}
	}
	return p
}

// destruction tells which children would be deleted or recreated.
func (f *findings) destruction(sample *parent.Sample) string {
	counts, owners := map[preview.Action]int{}, map[apply.Key]bool{}
	for key, action := range f.destroyed {
		counts[action]++
		owners[f.owners[key]] = true
	}
	var parts []string
	for _, action := range []preview.Action{preview.Delete, preview.Recreate} {
		if counts[action] > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", action, counts[action]))
		}
	}
	return fmt.Sprintf("it would %s of %d children of %s, first %s",
		strings.Join(parts, " and "), f.children, f.parents(len(owners), sample), nameOf(first(f.destroyed)))
}

// failure tells which parents would fail.
func (f *findings) failure(sample *parent.Sample) string {
	key := first(f.failing)
	return fmt.Sprintf("%s that succeed now would fail, first %s: %s", f.parents(len(f.failing), sample), nameOf(key), line(f.failing[key]))
}

// parents returns how many parents something is about, and of how many.
func (f *findings) parents(count int, sample *parent.Sample) string {
	text := fmt.Sprintf("%d of %d parents", count, len(sample.Parents))
	if sample.Total > len(sample.Parents) {
		text += fmt.Sprintf(" (a sample of %d)", sample.Total)
	}
	return text
}

// first returns the first key by namespace and name, so that equal findings have equal messages.
func first[V any](of map[apply.Key]V) apply.Key {
	var keys []apply.Key
	for key := range of {
		keys = append(keys, key)
	}
	return slices.MinFunc(keys, func(a, b apply.Key) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind.Kind, b.Kind.Kind))
	})
}

func line(err error) string { return engines.Truncate(printable.Line(err.Error()), maxErrorBytes) }
