package waiters

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// recordedQueue is a queue that records the enqueued keys.
type recordedQueue struct{ keys chan controller.Key }

func (w recordedQueue) enqueue(key controller.Key) { w.keys <- key }

func (w recordedQueue) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case key := <-w.keys:
		if key.Name != want {
			t.Errorf("%s is enqueued, want %s", key.Name, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s is not enqueued", want)
	}
}

// startNamespaceWaiters returns Namespaces for a cluster without namespaces.
func startNamespaceWaiters(t *testing.T) (*Namespaces, recordedQueue, dynamic.ResourceInterface, *informer.Pool) {
	t.Helper()
	listKinds := map[schema.GroupVersionResource]string{NamespaceResource: "NamespaceList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	pool := informer.NewPool(ctx, client, logr.Discard())
	queue := recordedQueue{make(chan controller.Key, 100)}
	a := NewNamespaces(pool)
	a.Queue = queue.enqueue
	t.Cleanup(a.Close)
	return a, queue, client.Resource(NamespaceResource), pool
}

func setOf(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// wait has a parent wait for a namespace, and returns when the watch is synced.
func (w *Namespaces) wait(t *testing.T, parent, namespace string) {
	t.Helper()
	if err := w.Set(controller.Key{Name: parent}, setOf(namespace)); err != nil {
		t.Fatal(err)
	}
	if !w.cache.WaitForSync(t.Context()) {
		t.Fatal("namespaces are not listed")
	}
}

func TestNamespaceWaiters(t *testing.T) {
	a, queue, namespaces, pool := startNamespaceWaiters(t)
	if pool.Len() != 0 {
		t.Fatal("namespaces are watched though no parent waits")
	}
	a.wait(t, "a", "late")
	a.wait(t, "b", "other")
	if !a.IsUnusable(controller.Key{Name: "a"}, "late") {
		t.Error("a missing namespace is tried")
	}
	if a.IsUnusable(controller.Key{Name: "a"}, "other") || a.IsUnusable(controller.Key{Name: "c"}, "late") {
		t.Error("a namespace that the parent does not wait for yet is not tried")
	}
	if _, err := namespaces.Create(t.Context(), parenttest.Namespace("late", false), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	queue.expect(t, "a")
	if a.IsUnusable(controller.Key{Name: "a"}, "late") {
		t.Error("a created namespace is not tried")
	}
	if _, err := namespaces.Update(t.Context(), parenttest.Namespace("late", true), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "late", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	queue.expect(t, "a") // Once: for the deletion, not for its beginning.
	a.Forget(controller.Key{Name: "a"})
	if pool.Len() != 1 {
		t.Error("namespaces are not watched though a parent waits")
	}
	a.Forget(controller.Key{Name: "b"})
	if pool.Len() != 0 || len(a.parents)+len(a.byKey) != 0 {
		t.Error("namespaces are watched though no parent waits any more")
	}
	if len(queue.keys) != 0 {
		t.Errorf("%d more are enqueued", len(queue.keys))
	}
}

// TestNamespaceBeforeTheWatch checks that the first list of the watch reports a namespace that
// was created before.
func TestNamespaceBeforeTheWatch(t *testing.T) {
	a, queue, namespaces, _ := startNamespaceWaiters(t)
	if _, err := namespaces.Create(t.Context(), parenttest.Namespace("late", false), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.wait(t, "a", "late")
	queue.expect(t, "a")
}

// TestNamespaceWaitersConcurrently adds and removes waiting parents while there are events.
func TestNamespaceWaitersConcurrently(t *testing.T) {
	a, queue, namespaces, pool := startNamespaceWaiters(t)
	go func() {
		for range queue.keys { // Discard the keys.
		}
	}()
	var all sync.WaitGroup
	for _, parent := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			for n := range 20 {
				if n%4 == 0 && parent == "a" {
					_, _ = namespaces.Create(context.Background(), parenttest.Namespace("late", false), metav1.CreateOptions{})
					_ = namespaces.Delete(context.Background(), "late", metav1.DeleteOptions{})
				}
				if err := a.Set(controller.Key{Name: parent}, setOf("late", "other")); err != nil {
					t.Error(err)
				}
				a.Forget(controller.Key{Name: parent})
			}
		})
	}
	all.Wait()
	if pool.Len() != 0 {
		t.Error("namespaces are watched though no parent waits any more")
	}
	close(queue.keys)
}
