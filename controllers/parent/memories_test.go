package parent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// forgetful, counted and timed are memories.
type (
	forgetful struct{ did *[]string }
	counted   struct {
		did   *[]string
		known bool
	}
	timed struct{ did *[]string }
)

func (m forgetful) Forget(key controller.Key) { *m.did = append(*m.did, "forgetful forgets "+key.Name) }

func (m counted) Forget(key controller.Key) bool {
	*m.did = append(*m.did, "counted forgets "+key.Name)
	return m.known
}
func (m counted) Retain(func(controller.Key) bool) { *m.did = append(*m.did, "counted retains") }
func (m timed) Expire()                            { *m.did = append(*m.did, "timed expires") }
func (m timed) Close()                             { *m.did = append(*m.did, "timed closes") }

// TestRemember checks that memories are asked for what they have methods for, all of them, and in their order.
func TestRemember(t *testing.T) {
	var did []string
	var l lifecycle
	remember(&l, counted{&did, true})
	remember(&l, forgetful{&did})
	remember(&l, counted{&did, false})
	remember(&l, timed{&did})
	if !l.forget(controller.Key{Name: "p"}) {
		t.Error("what one memory knew of the parent does not count")
	}
	l.retain(func(controller.Key) bool { return true })
	l.expire()
	l.close()
	want := []string{
		"counted forgets p", "forgetful forgets p", "counted forgets p", "counted retains", "counted retains", "timed expires", "timed closes",
	}
	if diff := cmp.Diff(want, did); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestMemoriesAreForgotten checks how many memories a deleted parent is dropped from, and that one of a child is none of them.
func TestMemoriesAreForgotten(t *testing.T) {
	env := Environment{Clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}.withDefaults()
	m, i := newMemories(Config{}, env), newInherited(Config{}, env)
	for name, c := range map[string]struct{ got, want int }{
		"own memories that forget parents":       {len(m.forgets), 8},
		"own memories that expire":               {len(m.expires), 2},
		"own memories that are closed":           {len(m.closes), 5},
		"inherited memories that forget parents": {len(i.forgets), 6},
		"inherited memories that retain parents": {len(i.retains), 3},
		"inherited memories that expire":         {len(i.expires), 1},
	} {
		if c.got != c.want {
			t.Errorf("%d %s, want %d", c.got, name, c.want)
		}
	}
}
