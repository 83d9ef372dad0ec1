package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// resolvePartial recognizes an answer that is only the metadata of an object. If nothing was written, its content
// is known.
func (o *Result) resolvePartial() {
	if o.Object == nil || o.Object.GetKind() != "PartialObjectMetadata" || o.Object.GetAPIVersion() != "meta.k8s.io/v1" {
		return
	}
	o.Object = &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": o.Change.Key.Kind.GroupVersion().String(), "kind": o.Change.Key.Kind.Kind, "metadata": o.Object.Object["metadata"],
	}}
	o.Partial = true
	if observed := o.Change.Observed; observed != nil && versionOf(observed) != "" && versionOf(observed) == versionOf(o.Object) {
		*o = o.WithContent(observed)
	}
}

// WithContent returns a partial outcome with the content of full, which is the same version of the object.
func (o Result) WithContent(full *unstructured.Unstructured) Result {
	meta := o.Object.Object["metadata"] // Of managedFields it has what was applied, which caches need not have.
	o.Object, o.Partial = &unstructured.Unstructured{Object: jsonvalue.With(full.Object, "metadata", meta)}, false
	return o
}
