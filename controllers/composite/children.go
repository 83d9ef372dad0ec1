package composite

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// selected gives the children of p the label of a generated selector, and
// refuses those that p's selector does not match.
func (v *Variant) selected(p *unstructured.Unstructured) variant.FinishFunc {
	claim, err := v.Claim(p)
	return func(child *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		if err != nil {
			return nil, err.Error()
		}
		child = v.labelled(child, p)
		if !claim.Selector.Matches(labels.Set(child.GetLabels())) {
			return nil, fmt.Sprintf("metadata.labels: the labels of %s do not match the parent's selector %q, so that it would never be seen again", apply.KeyOf(child), claim.Selector)
		}
		return child, ""
	}
}

// unselected is selected for an earlier state of p. What p's selector does not
// match by now is no mistake of the hook's.
func (v *Variant) unselected(p *unstructured.Unstructured) variant.FinishFunc {
	return func(child *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		return v.labelled(child, p), ""
	}
}

func (v *Variant) labelled(child, p *unstructured.Unstructured) *unstructured.Unstructured {
	set := child.GetLabels()
	if !v.generate || set[v1alpha1.ControllerUIDLabel] != "" {
		return child
	}
	if set == nil {
		set = map[string]string{}
	}
	set[v1alpha1.ControllerUIDLabel] = string(p.GetUID())
	child = variant.WithMetadata(child)
	child.SetLabels(set)
	return child
}

// dynamicallyUpToDate says whether dynamic apply would write nothing.
func dynamicallyUpToDate(observed, desired *unstructured.Unstructured) (bool, error) {
	merged, err := merge.Merge(nil, observed, desired)
	return merged.Object == observed, err
}
