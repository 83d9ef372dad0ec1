package waiters

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestParentSets(t *testing.T) {
	a, b := controller.Key{Name: "a"}, controller.Key{Name: "b"}
	w := Sets[string]{}
	for _, key := range []controller.Key{a, b, a} {
		w.Add("x", key)
	}
	w.Add("y", a)
	w.Drop(a)
	if diff := cmp.Diff(Sets[string]{"x": {b: true}}, w); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := w.Take("x"); len(got) != 1 || !got[b] || len(w) > 0 {
		t.Errorf("took %v, %v still wait", got, w)
	}
}
