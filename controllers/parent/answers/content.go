package answers

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// CustomizeInputs are those that decide what a customize hook answers, if it reads them: an answer may not depend on the status.
const CustomizeInputs = ReadLabels | ReadAnnotations

// HashContent returns a hash of a parent without resourceVersion and generation, and without labels, annotations and status unless they
// were read.
func HashContent(parent *unstructured.Unstructured, read Inputs) uint64 {
	content := contentOf(parent, read&(CustomizeInputs|ReadStatus))
	content["metadata"], _ = jsonvalue.Without(jsonvalue.ObjectIn(content, "metadata"), "generation")
	return jsonvalue.Hash(content)
}
