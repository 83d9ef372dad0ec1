package variant

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// IsOn reports whether an object has the mark.
func (m Mark) IsOn(object *unstructured.Unstructured) bool {
	name, found, _ := unstructured.NestedString(object.Object, "metadata", "annotations", m.Annotation)
	return found && name == m.Name
}

// Finish is the FinishFunc that adds the mark to an object.
func (m Mark) Finish(object *unstructured.Unstructured) (*unstructured.Unstructured, string) {
	return WithMarks(object, nil, map[string]any{m.Annotation: m.Name}), ""
}
