package composite

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// OwnRevisions picks the definition's own out of a parent's ControllerRevisions: those
// with its label, and of those without any, which metacontroller and earlier versions
// made, those that name children of a kind that it declares. One that names no
// children may be anybody's: it is this definition's unless another one is known to
// roll out children of the parent.
func (v *Variant) OwnRevisions(all []*unstructured.Unstructured) []*unstructured.Unstructured {
	var own, unnamed []*unstructured.Unstructured
	alone := true
	for _, revision := range all {
		label, labelled := revision.GetLabels()[v1alpha1.CompositeLabel]
		claims := childIDsOf(revision, "")
		switch {
		case labelled && label == v.label, !labelled && slices.ContainsFunc(claims, v.declares):
			own = append(own, revision)
		case !labelled && len(claims) == 0:
			unnamed = append(unnamed, revision)
		default:
			alone = false
		}
	}
	if alone {
		own = append(own, unnamed...)
	}
	return own
}

// declares reports whether a child is of a kind of the definition's.
func (v *Variant) declares(id childID) bool {
	return slices.ContainsFunc(v.config.Children, func(rule variant.ChildRule) bool { return rule.Kind.GroupKind() == id.GroupKind })
}
