package parent

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestParentSets(t *testing.T) {
	a, b := controller.Key{Name: "a"}, controller.Key{Name: "b"}
	w := parentSets[string]{}
	for _, key := range []controller.Key{a, b, a} {
		w.add("x", key)
	}
	w.add("y", a)
	w.drop(a)
	if diff := cmp.Diff(parentSets[string]{"x": {b: true}}, w); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := w.take("x"); len(got) != 1 || !got[b] || len(w) > 0 {
		t.Errorf("took %v, %v still wait", got, w)
	}
}
