package mapping

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// SelectorIndex names the index of parents by their selector for inputs. Composites have
// another one, as for them an empty selector is an error.
const SelectorIndex = "spec.selector or all"

// SelectorOf returns a parent's spec.selector for inputs. Absent, null and empty select
// everything (section 9 of the specification). The error says what is wrong with the parent.
func SelectorOf(p *unstructured.Unstructured) (labels.Selector, error) {
	selector := labels.Everything()
	value, _, _ := unstructured.NestedFieldNoCopy(p.Object, "spec", "selector")
	if value == nil {
		return selector, nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("spec.selector: must have matchLabels or matchExpressions that tell the inputs, or be left out for all")
	}
	given := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, given); err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	if err := compile(&selector, "spec.selector", given); err != nil {
		return nil, err
	}
	return selector, nil
}
