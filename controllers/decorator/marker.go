package decorator

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// marks says whether the definition made an attachment: others may make some for
// the same object (section 3.4 of the specification).
func (v *Variant) marks(attachment *unstructured.Unstructured) bool {
	name, found, _ := unstructured.NestedString(attachment.Object, "metadata", "annotations", v1alpha1.DecoratorAnnotation)
	return found && name == v.name
}

// mark gives a copy of a desired attachment with the definition's marker.
func (v *Variant) mark(attachment *unstructured.Unstructured) (*unstructured.Unstructured, string) {
	return variant.WithMarks(attachment, nil, map[string]any{v1alpha1.DecoratorAnnotation: v.name}), ""
}
