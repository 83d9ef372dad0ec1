package hosted

import (
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
)

// TestSharesCaches expects that hooks are called with the objects of the host's caches: workers have these, or need them for the passes that
// follow.
func TestSharesCaches(t *testing.T) {
	s := settled(t, "InPlace", script, "", making("1", three), 4, nil)
	calls := 0
	next := making("2", three)
	sync := next["sync"]
	next.with("sync", func(call engines.Call) (any, error) {
		calls++
		fields, _ := call.Request["parent"].(map[string]any)
		children, _, _ := unstructured.NestedFieldNoCopy(call.Request, "children", "ConfigMap.v1")
		byName, _ := children.(map[string]any)
		for _, child := range byName {
			fields, _ := child.(map[string]any)
			s.isCached(t, fields)
		}
		if s.isCached(t, fields); len(byName) != len(three) {
			t.Errorf("%d children in a request, want %d", len(byName), len(three))
		}
		response, err := sync.Run(t.Context(), call)
		return response.Body, err
	})
	if got := s.preview(t, next, 100); got.Held != "" || calls != 4 {
		t.Errorf("%d calls, and %+v", calls, got)
	}
}

// isCached expects that fields are those of the object in the cache, and no copy.
func (s scene) isCached(t *testing.T, fields map[string]any) {
	t.Helper()
	object := &unstructured.Unstructured{Object: fields}
	if cached := s.cached(t, object); reflect.ValueOf(cached.Object).Pointer() != reflect.ValueOf(fields).Pointer() {
		t.Errorf("%s %s was copied", object.GetKind(), object.GetName())
	}
}
