package composite

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// OwnRevisions returns those of a parent's ControllerRevisions that belong to the definition:
// those with its label, and those without a label, made by metacontroller,
// that list children of a kind that it declares. One that has neither label nor children
// belongs to the definition unless the parent also has revisions of another one.
func (v *Variant) OwnRevisions(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	var own, childless []*unstructured.Unstructured
	alone := true
	for _, revision := range all {
		label, labelled := revision.GetLabels()[v1alpha1.CompositeLabel]
		ids := childIDsOf(revision, "")
		switch {
		case labelled && label == v.label, !labelled && slices.ContainsFunc(ids, v.declares):
			own = append(own, revision)
		case !labelled && len(ids) == 0:
			childless = append(childless, revision)
		default:
			alone = false
		}
	}
	if alone {
		own = append(own, childless...)
	}
	return own
}

// declares reports whether the definition declares the kind of a child.
func (v *Variant) declares(id childID) bool {
	return slices.ContainsFunc(v.config.Children, func(rule variant.ChildRule) bool { return rule.Kind.GroupKind() == id.GroupKind })
}
