package parent

import (
	"fmt"
	"hash/maphash"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// hashContent returns a hash of a parent without status, resourceVersion and generation.
func hashContent(seed maphash.Seed, parent *unstructured.Unstructured) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	content := variant.WithMetadata(parent)
	delete(content.Object, "status")
	content.SetResourceVersion("")
	content.SetGeneration(0)
	writeValue(&h, content.Object)
	return h.Sum64()
}

func writeValue(h *maphash.Hash, value any) {
	switch v := value.(type) {
	case map[string]any:
		h.WriteByte('{')
		for _, key := range variant.SortedKeys(v) {
			h.WriteString(key)
			h.WriteByte(0)
			writeValue(h, v[key])
		}
		h.WriteByte('}')
	case []any:
		h.WriteByte('[')
		for _, item := range v {
			writeValue(h, item)
		}
		h.WriteByte(']')
	default:
		fmt.Fprintf(h, "%T:%v\x00", v, v)
	}
}
