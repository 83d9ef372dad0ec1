package parent

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
	w := newWaits()
	expect := func(step string, ofA, ofB []variant.Wait, parents int) {
		t.Helper()
		if diff := cmp.Diff([][]variant.Wait{ofA, ofB}, [][]variant.Wait{w.of(a), w.of(b)}); diff != "" || len(w.byParent) != parents {
			t.Errorf("%s: %d parents are kept, want %d (-want +got):\n%s", step, len(w.byParent), parents, diff)
		}
	}
	w.set(a, nil)
	expect("it does not wait", nil, nil, 0)
	w.set(a, whole)
	w.set(b, whole)
	w.set(b, input)
	expect("one waits for something else", whole, input, 2)
	w.set(a, nil)
	expect("the other one does not wait any more", nil, input, 1)
	w.set(a, whole)
	w.retain(func(key controller.Key) bool { return key == b })
	expect("an edit leaves one parent", nil, input, 1)
	w.forget(b)
	expect("it is gone", nil, nil, 0)
}
