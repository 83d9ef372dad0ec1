package composite

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// finishFor returns a FinishFunc that adds the label of a generated selector to the children
// of p and rejects those that p's selector does not match.
func (v *Variant) finishFor(p *unstructured.Unstructured) variant.FinishFunc {
	claim, err := v.Claim(p)
	return func(child *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		if err != nil {
			return nil, err.Error()
		}
		child = v.withUIDLabel(child, p)
		if !claim.Selector.Matches(labels.Set(child.GetLabels())) {
			return nil, fmt.Sprintf("metadata.labels: the labels of %s do not match the parent's selector %q, so that it would never be seen again",
				apply.KeyOf(child), claim.Selector)
		}
		return child, ""
	}
}

// finishForOld is finishFor for an earlier state of p. It rejects nothing: p's selector may
// have changed since.
func (v *Variant) finishForOld(p *unstructured.Unstructured) variant.FinishFunc {
	return func(child *unstructured.Unstructured) (*unstructured.Unstructured, string) {
		return v.withUIDLabel(child, p), ""
	}
}

func (v *Variant) withUIDLabel(child, p *unstructured.Unstructured) *unstructured.Unstructured {
	if !v.generate || child.GetLabels()[v1alpha1.ControllerUIDLabel] != "" {
		return child
	}
	return variant.WithMarks(child, map[string]any{v1alpha1.ControllerUIDLabel: string(p.GetUID())}, nil)
}
