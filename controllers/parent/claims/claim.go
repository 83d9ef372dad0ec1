// Package claims decides which objects are the children of a parent, by their owners, the parent's selector, and the marks of
// definitions.
package claims

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Result holds the candidates that are owned, to adopt and to release.
type Result struct{ Owned, Adopt, Release []*unstructured.Unstructured }

// Children returns which candidates are children of parent, by the rules of section 3.4 of
// the specification. It keeps what is owned and matches, releases what is owned and does not
// match, and adopts what matches and has no owner. A parent that is being deleted neither adopts
// nor releases. An object that is being deleted is not adopted.
func Children(parent *unstructured.Unstructured, claim variant.Claim, candidates []*unstructured.Unstructured) Result {
	var c Result
	deleting, uid := parent.GetDeletionTimestamp() != nil, parent.GetUID()
	for _, candidate := range candidates {
		owner := informer.ControllerOf(candidate)
		matches := claim.Selector == nil || claim.Selector.Matches(viewLabels(candidate))
		switch {
		case candidate.GetUID() == uid:
			// A parent may be of a child's kind and match itself.
		case owner != nil && owner.UID != uid:
			// Its owner has changed since the lookup.
		case owner != nil && claim.Marked != nil && !claim.Marked(candidate):
			// It is a child that another definition made for the parent.
		case owner != nil && (matches || deleting):
			c.Owned = append(c.Owned, candidate)
		case owner != nil:
			c.Release = append(c.Release, candidate)
		case claim.Selector != nil && matches && !deleting && candidate.GetDeletionTimestamp() == nil && !IsOrphanOf(candidate, parent):
			c.Adopt = append(c.Adopt, candidate)
		}
	}
	return c
}

// IsOrphanOf reports whether parent has let go of an object that has no controller since then: it is not adopted before a hook wants it
// again.
func IsOrphanOf(object, parent *unstructured.Unstructured) bool {
	annotations := jsonvalue.ObjectIn(jsonvalue.ObjectIn(object.Object, "metadata"), "annotations")
	return annotations[apply.OrphanedBy] == string(parent.GetUID()) && informer.ControllerOf(object) == nil
}

// LastingChildren returns the objects that a parent owns and claims, without those that are being deleted.
func LastingChildren(
	parent *unstructured.Unstructured, claim variant.Claim, owned []*unstructured.Unstructured,
) []*unstructured.Unstructured {
	return slices.DeleteFunc(Children(parent, claim, owned).Owned, func(child *unstructured.Unstructured) bool {
		return child.GetDeletionTimestamp() != nil
	})
}

// labelView shows the labels of an object to a selector. A labels.Set would be a copy.
type labelView map[string]any

func viewLabels(object *unstructured.Unstructured) labelView {
	return jsonvalue.ObjectIn(jsonvalue.ObjectIn(object.Object, "metadata"), "labels")
}

// Has implements labels.Labels.
func (l labelView) Has(label string) bool {
	_, has := l[label]
	return has
}

// Get implements labels.Labels.
func (l labelView) Get(label string) string {
	value, _ := l[label].(string)
	return value
}

// Lookup implements labels.Labels.
func (l labelView) Lookup(label string) (value string, has bool) { return l.Get(label), l.Has(label) }
