package parent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// Parents returns the number of parents.
func (r *Reconciler) Parents() int {
	count := 0
	r.sources.EachParent(func(*sources.Parent, *unstructured.Unstructured) { count++ })
	return count
}

// ParentsOf returns the number of parents of one kind.
func (r *Reconciler) ParentsOf(kind schema.GroupKind) int {
	count := 0
	r.sources.EachParent(func(source *sources.Parent, _ *unstructured.Unstructured) {
		if source.Kind.GroupKind() == kind {
			count++
		}
	})
	return count
}

// NotSelected returns the number of parents that another rule for their kind does not select.
func (r *Reconciler) NotSelected(rule variant.ParentRule) int {
	count := 0
	r.sources.EachParent(func(source *sources.Parent, parent *unstructured.Unstructured) {
		if source.Kind.GroupKind() == rule.Kind.GroupKind() && !rule.Selects(parent) {
			count++
		}
	})
	return count
}

// ChildrenOf returns the number of children of one kind that the definition's parents own. It
// does not count those that are being deleted.
func (r *Reconciler) ChildrenOf(kind schema.GroupKind) int {
	count := 0
	for i := range r.sources.Children {
		child := &r.sources.Children[i]
		if child.Kind.GroupKind() != kind {
			continue
		}
		r.sources.EachParent(func(_ *sources.Parent, parent *unstructured.Unstructured) {
			claim, err := r.config.Variant.Claim(parent)
			if err != nil {
				return // An invalid parent manages no children.
			}
			for _, object := range claims.Children(parent, claim, child.Cache.OwnedBy(parent.GetUID())).Owned {
				if object.GetDeletionTimestamp() == nil {
					count++
				}
			}
		})
	}
	return count
}
