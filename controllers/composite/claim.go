package composite

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// SelectorIndex names the index of parents by their selector for children. It is the same for
// all definitions with the same kind of selector.
func (v *Variant) SelectorIndex() string {
	if v.generate {
		return "uid"
	}
	return "spec.selector"
}

// Claim returns the generated selector or the parent's spec.selector (section 3.4 of the
// specification).
func (v *Variant) Claim(p *unstructured.Unstructured) (variant.Claim, error) {
	if v.generate {
		generated := labels.SelectorFromSet(labels.Set{v1alpha1.ControllerUIDLabel: string(p.GetUID())})
		return variant.Claim{Selector: generated, Marked: hasNoMark}, nil
	}
	selector, err := selectorOf(p)
	return variant.Claim{Selector: selector, Marked: hasNoMark}, err
}

// hasNoMark reports whether neither a decorator nor a map made the object. They update,
// release and delete their own objects of the same parent.
func hasNoMark(child *unstructured.Unstructured) bool {
	annotations := jsonvalue.ObjectIn(jsonvalue.ObjectIn(child.Object, "metadata"), "annotations")
	decorator, _ := annotations[v1alpha1.DecoratorAnnotation].(string)
	output, _ := annotations[v1alpha1.MapAnnotation].(string)
	return decorator == "" && output == ""
}

func selectorOf(p *unstructured.Unstructured) (labels.Selector, error) {
	value, _, _ := unstructured.NestedFieldNoCopy(p.Object, "spec", "selector")
	fields, ok := value.(map[string]any)
	if !ok || len(fields) == 0 {
		return nil, errors.New("spec.selector: the parent needs matchLabels or matchExpressions that tell its children, " +
			"or generateSelector: true in the definition")
	}
	parsed := &metav1.LabelSelector{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, parsed); err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(parsed)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	if selector.Empty() {
		return nil, errors.New("spec.selector: is empty and would take every object for a child: give it matchLabels or matchExpressions")
	}
	return selector, nil
}
