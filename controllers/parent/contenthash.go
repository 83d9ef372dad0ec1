package parent

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/jsonvalue"
)

// hashContent returns a hash of a parent without status, resourceVersion and generation.
func hashContent(parent *unstructured.Unstructured) uint64 {
	metadata, _ := jsonvalue.Without(jsonvalue.ObjectIn(parent.Object, "metadata"), "resourceVersion", "generation")
	content, _ := jsonvalue.Without(parent.Object, "status")
	return jsonvalue.Hash(jsonvalue.With(content, "metadata", metadata))
}

func writeValue(h *maphash.Hash, value any) { maphash.WriteComparable(h, jsonvalue.Hash(value)) }
