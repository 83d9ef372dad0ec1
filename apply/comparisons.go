package apply

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Memory remembers which objects were found to be as they should be, so that they are
// not compared again as long as neither they nor what is desired of them changes. It
// is kept from one Diff to the next, may be used by several at once, and holds some
// hundred bytes for each object until Forget.
type Memory struct {
	mu          sync.Mutex
	comparisons map[Key]comparison
}

// comparison is what was compared and found to be the same. Desired is the hash of the
// desired object: that two in turn have the same by chance is one in 2^64.
type comparison struct {
	version string
	desired uint64
	schema  *openapi.Kind
}

// NewMemory makes one that remembers nothing.
func NewMemory() *Memory {
	return &Memory{comparisons: map[Key]comparison{}}
}

// Forget drops what is known of an object, which is gone.
func (m *Memory) Forget(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.comparisons, key)
}

// holds reports whether the comparison of a child with an object is known to find nothing. The
// desired object is hashed only if all else is the same.
func (m *Memory) holds(c child, observed *unstructured.Unstructured) bool {
	version := versionOf(observed)
	if m == nil || version == "" {
		return false
	}
	m.mu.Lock()
	known, ok := m.comparisons[c.key]
	m.mu.Unlock()
	return ok && known.version == version && known.schema == c.rule.Schema && known.desired == jsonvalue.Hash(c.desired.Object)
}

// note remembers that the comparison found nothing, unless the object has no version.
func (m *Memory) note(c child, observed *unstructured.Unstructured) {
	version := versionOf(observed)
	if m == nil || version == "" {
		return
	}
	found := comparison{version: version, desired: jsonvalue.Hash(c.desired.Object), schema: c.rule.Schema}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.comparisons[c.key] = found
}

func versionOf(object *unstructured.Unstructured) string {
	version, _ := jsonvalue.ObjectIn(object.Object, "metadata")["resourceVersion"].(string)
	return version
}
