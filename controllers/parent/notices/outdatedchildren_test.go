package notices

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func TestOutdatedChildren(t *testing.T) {
	a, b := apply.Key{Name: "a"}, apply.Key{Name: "b"}
	o := NewOutdatedChildren()
	for i, step := range []struct {
		reason         string
		key            string
		uid            types.UID
		aim            uint64
		children       []apply.Key
		changed, isNew bool
		total          int32
	}{
		{"none", "p", "u", 1, nil, false, false, 0},
		{"the first", "p", "u", 1, []apply.Key{a}, true, true, 1},
		{"the same again", "p", "u", 1, []apply.Key{a}, false, false, 1},
		{"one more", "p", "u", 1, []apply.Key{a, b}, true, true, 2},
		{"one was deleted", "p", "u", 1, []apply.Key{b}, true, false, 1},
		{"and differs again", "p", "u", 1, []apply.Key{a, b}, true, false, 2},
		{"an edit", "p", "u", 2, []apply.Key{a, b}, false, true, 2},
		{"another parent", "q", "v", 1, []apply.Key{a}, true, true, 3},
		{"another one of the same name", "q", "w", 1, []apply.Key{a}, false, true, 3},
		{"all are as they should be", "p", "u", 2, nil, true, false, 1},
		{"and differ anew", "p", "u", 2, []apply.Key{a}, true, true, 2},
	} {
		changed, isNew := o.Set(controller.Key{Name: step.key}, step.uid, step.aim, step.children)
		if isNew {
			o.NoteReported(controller.Key{Name: step.key})
		}
		if total := o.Total(); changed != step.changed || isNew != step.isNew || total != step.total {
			t.Errorf("step %d: %s: changed %v, new %v, total %d", i, step.reason, changed, isNew, total)
		}
	}
	if !o.Forget(controller.Key{Name: "p"}) || o.Forget(controller.Key{Name: "p"}) || o.Total() != 1 {
		t.Errorf("after the parent is forgotten there are %d, want 1", o.Total())
	}
}
