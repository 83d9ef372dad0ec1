package waiters

import (
	"testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestCreationWaiters(t *testing.T) {
	b := NewCreations()
	a, c := controller.Key{Name: "a"}, controller.Key{Name: "c"}
	for _, parent := range []controller.Key{a, c, a} {
		b.Add(apply.Key{Name: "taken"}, parent)
	}
	b.Add(apply.Key{Name: "other"}, c)
	if waiting := b.Take(apply.Key{Name: "taken"}); len(waiting) != 2 || !waiting[a] || !waiting[c] {
		t.Errorf("%v wait for the object, want both parents", waiting)
	}
	if waiting := b.Take(apply.Key{Name: "taken"}); len(waiting) != 0 {
		t.Errorf("%v still wait for the object after take", waiting)
	}
}
