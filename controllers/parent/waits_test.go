package parent

import (
	"testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestWaits checks the counts of what waits, and when they change.
func TestWaits(t *testing.T) {
	a, b := controller.Key{Name: "a"}, controller.Key{Name: "b"}
	whole, input := variant.Wait{Reason: "Late"}, variant.Wait{Reason: "Late", Input: "/Secret/x/a"}
	w := newWaits()
	for i, step := range []struct {
		key             controller.Key
		waits           []variant.Wait
		changed         bool
		parents, inputs int32
	}{
		{key: a}, // it does not wait, and did not
		{a, []variant.Wait{whole}, true, 1, 0},
		{a, []variant.Wait{{Reason: "Later"}}, false, 1, 0}, // the reason does not count
		{b, []variant.Wait{input, input}, true, 2, 2},
		{b, []variant.Wait{input}, true, 2, 1},
		{a, nil, true, 1, 1},
		{a, nil, false, 1, 1},
	} {
		changed := w.set(step.key, step.waits)
		if parents, inputs := w.counts(); changed != step.changed || parents != step.parents || inputs != step.inputs {
			t.Errorf("step %d: changed is %v, and %d parents and %d inputs wait, want %+v", i, changed, parents, inputs, step)
		}
	}
	w.set(a, []variant.Wait{input})
	w.retain(func(key controller.Key) bool { return key == b })
	if parents, inputs := w.counts(); parents != 1 || inputs != 1 {
		t.Errorf("%d parents and %d inputs wait, want those of the parent that is left", parents, inputs)
	}
	if w.forget(a) || !w.forget(b) || len(w.byParent) != 0 || w.inputs != 0 {
		t.Errorf("parents that are gone: %v", w.byParent)
	}
}
