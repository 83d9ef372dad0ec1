package watchset_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/runtime/watchset"
)

// world follows things, and lets a test change them.
type world struct {
	watches *watchset.Set[string, int]

	mu      sync.Mutex
	things  map[string]*watchset.Entry[int] // that are followed
	follows []string                        // which was followed when
}

func newWorld() *world {
	w := &world{things: map[string]*watchset.Entry[int]{}}
	w.watches = watchset.New(func(ctx context.Context, key string, thing *watchset.Entry[int]) {
		w.mu.Lock()
		w.follows = append(w.follows, key)
		w.things[key] = thing
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.things, key)
	})
	return w
}

// open watches a thing, and counts what is told of it.
func (w *world) open(key string) (watch *watchset.Watch[int], told *int) {
	told = new(int)
	watch = w.watches.Open(key, func() { *told++ })
	synctest.Wait()
	return watch, told
}

func (w *world) change(key string, to int) { w.things[key].Change(func(now *int) { *now = to }) }

func TestEachIsFollowedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		first, _ := w.open("a")
		second, _ := w.open("a")
		other, _ := w.open("b")
		if diff := cmp.Diff([]string{"a", "b"}, w.follows); diff != "" {
			t.Errorf("followed: -want, +got:\n%s", diff)
		}
		first.Close()
		first.Close()
		synctest.Wait()
		if w.things["a"] == nil {
			t.Error("a watch ends while somebody has it")
		}
		second.Close()
		other.Close()
		synctest.Wait()
		if len(w.things) > 0 {
			t.Errorf("%d things are followed for nobody", len(w.things))
		}
		again, _ := w.open("a")
		again.Close()
		if diff := cmp.Diff([]string{"a", "b", "a"}, w.follows); diff != "" {
			t.Errorf("followed: -want, +got:\n%s", diff)
		}
	})
}

func TestChangesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		first, toldFirst := w.open("a")
		second, toldSecond := w.open("a")
		other, toldOther := w.open("b")
		w.change("a", 1)
		second.Close()
		w.change("a", 2)
		if diff := cmp.Diff([]int{2, 1, 0}, []int{*toldFirst, *toldSecond, *toldOther}); diff != "" {
			t.Errorf("told: -want, +got:\n%s", diff)
		}
		if diff := cmp.Diff([]int{2, 0}, []int{first.Read(), other.Read()}); diff != "" {
			t.Errorf("read: -want, +got:\n%s", diff)
		}
		first.Close()
		other.Close()
	})
}
