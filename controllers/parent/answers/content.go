package answers

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// HashContent returns a hash of a parent without status, resourceVersion and generation, and without labels and annotations that were
// not read.
func HashContent(parent *unstructured.Unstructured, read Inputs) uint64 {
	content := contentOf(parent, read&(ReadLabels|ReadAnnotations))
	content["metadata"], _ = jsonvalue.Without(jsonvalue.ObjectIn(content, "metadata"), "generation")
	return jsonvalue.Hash(content)
}
