package parent

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/jsonvalue"
)

// contentOf hashes all of a parent but its status and what the API server counts.
func contentOf(seed maphash.Seed, parent *unstructured.Unstructured) uint64 {
	metadata, _ := jsonvalue.Without(jsonvalue.ObjectIn(parent.Object, "metadata"), "resourceVersion", "generation")
	content, _ := jsonvalue.Without(parent.Object, "status")
	return maphash.Comparable(seed, jsonvalue.Hash(jsonvalue.With(content, "metadata", metadata)))
}

func writeValue(h *maphash.Hash, value any) { maphash.WriteComparable(h, jsonvalue.Hash(value)) }
