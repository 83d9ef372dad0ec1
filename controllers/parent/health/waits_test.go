package health

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestWaits checks what is known of parents that wait, wait for something else, don't wait any more, or are gone.
func TestWaits(t *testing.T) {
	a, b := controller.Key{Name: "a"}, controller.Key{Name: "b"}
	whole, input := []variant.Wait{{Reason: "Late"}}, []variant.Wait{{Reason: "Late", Input: "/Secret/x/a"}}
	w := NewWaits()
	expect := func(step string, ofA, ofB []variant.Wait, parents int) {
		t.Helper()
		if diff := cmp.Diff([][]variant.Wait{ofA, ofB}, [][]variant.Wait{w.Of(a), w.Of(b)}); diff != "" || len(w.byParent) != parents {
			t.Errorf("%s: %d parents are kept, want %d (-want +got):\n%s", step, len(w.byParent), parents, diff)
		}
	}
	w.Set(a, nil)
	expect("it does not wait", nil, nil, 0)
	w.Set(a, whole)
	w.Set(b, whole)
	w.Set(b, input)
	expect("one waits for something else", whole, input, 2)
	w.Set(a, nil)
	expect("the other one does not wait any more", nil, input, 1)
	w.Set(a, whole)
	w.Retain(func(key controller.Key) bool { return key == b })
	expect("an edit leaves one parent", nil, input, 1)
	w.Forget(b)
	expect("it is gone", nil, nil, 0)
}
