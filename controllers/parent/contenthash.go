package parent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// hashContent returns a hash of a parent without status, resourceVersion and generation, and without labels and annotations that were
// not read.
func hashContent(parent *unstructured.Unstructured, read readInputs) uint64 {
	content := contentOf(parent, read&(readLabels|readAnnotations))
	content["metadata"], _ = jsonvalue.Without(jsonvalue.ObjectIn(content, "metadata"), "generation")
	return jsonvalue.Hash(content)
}
