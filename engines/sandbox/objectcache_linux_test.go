package sandbox_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

func cached(name string, version int) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": name, "uid": name, "resourceVersion": fmt.Sprint(version), "labels": map[string]any{"version": int64(version)}},
		"spec":     map[string]any{"list": []any{int64(3), int64(1), int64(2)}},
	}
}

// TestSameObjects repeats calls with the same objects, which a worker keeps, to hooks that modify their
// request. Each call must see the original objects.
func TestSameObjects(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1})
	writer := compiled(t, pool, `export function sync({a, b}) {
  const seen = JSON.parse(JSON.stringify({a, b}));
  a.metadata.labels.version++;
  a.spec.list.sort();
  delete b.metadata;
  b.spec.list.push(4);
  return {seen, a, b};
}`)
	killer := probed(t, pool, "panic elsewhere")
	objects := []map[string]any{cached("a", 1), cached("b", 1), cached("a", 2)}
	for n := range 60 {
		a, b := objects[n%3], objects[(n/3)%3]
		want := map[string]any{"a": runtime.DeepCopyJSON(a), "b": runtime.DeepCopyJSON(b)}
		response, err := writer.Run(t.Context(), engines.Call{Request: map[string]any{"a": a, "b": b}, Seed: fmt.Sprint(n % 2)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(want), response.Body.(map[string]any)["seen"]); n%3 != (n/3)%3 && diff != "" {
			t.Fatalf("call %d saw (-want +got):\n%s", n, diff)
		}
		if n == 30 { // The next worker has no objects.
			_, err := killer.Run(t.Context(), request(nil))
			wantError(t, err, engines.Failed, "script worker crashed")
		}
	}
}

// TestUnmodified answers with an object as it came and with a modified copy, when the worker gets the
// object and when it has it.
func TestUnmodified(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1})
	program := compiled(t, pool, `export function sync({a, b}) {
  b.metadata.labels.version++;
  return [a, b, a.spec, a];
}`)
	a, b := cached("a", 1), cached("b", 1)
	for call := range 3 {
		response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{"a": a, "b": b}})
		if err != nil {
			t.Fatal(err)
		}
		changed := runtime.DeepCopyJSON(b)
		changed["metadata"].(map[string]any)["labels"].(map[string]any)["version"] = int64(2)
		if diff := cmp.Diff(any([]any{cached("a", 1), changed, cached("a", 1)["spec"], cached("a", 1)}), response.Body); diff != "" {
			t.Fatalf("call %d (-want +got):\n%s", call, diff)
		}
		got := response.Body.([]any)[0].(map[string]any)
		if reflect.ValueOf(got).Pointer() != reflect.ValueOf(a).Pointer() {
			t.Errorf("call %d: the object was sent back", call)
		}
	}
}
