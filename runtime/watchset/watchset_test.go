package watchset_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/runtime/watchset"
)

// env is a fake watch whose entries a test can change.
type env struct {
	watches *watchset.Set[string, int]

	mu      sync.Mutex
	entries map[string]*watchset.Entry[int] // Entries that are watched.
	watched []string                        // Keys in the order in which they were watched.
}

func newEnv() *env {
	e := &env{entries: map[string]*watchset.Entry[int]{}}
	e.watches = watchset.New(func(ctx context.Context, key string, entry *watchset.Entry[int]) {
		e.mu.Lock()
		e.watched = append(e.watched, key)
		e.entries[key] = entry
		e.mu.Unlock()
		<-ctx.Done()
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.entries, key)
	})
	return e
}

// open opens a watch and counts its notifications.
func (e *env) open(key string) (watch *watchset.Watch[int], notified *int) {
	notified = new(int)
	watch = e.watches.Open(key, func() { *notified++ })
	synctest.Wait()
	return watch, notified
}

func (e *env) change(key string, to int) { e.entries[key].Change(func(now *int) { *now = to }) }

func TestEachKeyIsWatchedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv()
		first, _ := e.open("a")
		second, _ := e.open("a")
		other, _ := e.open("b")
		if diff := cmp.Diff([]string{"a", "b"}, e.watched); diff != "" {
			t.Errorf("watched: -want, +got:\n%s", diff)
		}
		first.Close()
		first.Close()
		synctest.Wait()
		if e.entries["a"] == nil {
			t.Error("a watch with a user has ended")
		}
		second.Close()
		other.Close()
		synctest.Wait()
		if len(e.entries) > 0 {
			t.Errorf("%d entries without users are watched", len(e.entries))
		}
		again, _ := e.open("a")
		again.Close()
		if diff := cmp.Diff([]string{"a", "b", "a"}, e.watched); diff != "" {
			t.Errorf("watched: -want, +got:\n%s", diff)
		}
	})
}

func TestChangesNotify(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEnv()
		first, firstNotified := e.open("a")
		second, secondNotified := e.open("a")
		other, otherNotified := e.open("b")
		e.change("a", 1)
		second.Close()
		e.change("a", 2)
		if diff := cmp.Diff([]int{2, 1, 0}, []int{*firstNotified, *secondNotified, *otherNotified}); diff != "" {
			t.Errorf("notified: -want, +got:\n%s", diff)
		}
		if diff := cmp.Diff([]int{2, 0}, []int{first.Read(), other.Read()}); diff != "" {
			t.Errorf("read: -want, +got:\n%s", diff)
		}
		first.Close()
		other.Close()
	})
}
