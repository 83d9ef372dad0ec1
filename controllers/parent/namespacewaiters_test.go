package parent

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// woken is a queue that tells who is enqueued.
type woken struct{ keys chan controller.Key }

func (w woken) Enqueue(key controller.Key)                           { w.keys <- key }
func (w woken) EnqueueSoon(key controller.Key, _ time.Duration)      { w.keys <- key }
func (w woken) EnqueueAfter(key controller.Key, after time.Duration) { w.keys <- key }

func (w woken) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case key := <-w.keys:
		if key.Name != want {
			t.Errorf("%s was woken, want %s", key.Name, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s is not woken", want)
	}
}

// awaitedIn makes an awaited in a cluster without namespaces.
func awaitedIn(t *testing.T) (*namespaceWaiters, woken, dynamic.ResourceInterface, *informer.Pool) {
	t.Helper()
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{namespaceResource: "NamespaceList"})
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	pool := informer.NewPool(ctx, client, logr.Discard())
	queue := woken{make(chan controller.Key, 100)}
	a := newNamespaceWaiters(pool)
	a.queue = queue
	t.Cleanup(a.close)
	return a, queue, client.Resource(namespaceResource), pool
}

func namespaceNamed(name string, deleting bool) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	o.SetName(name)
	o.SetUID("u-" + "1")
	o.SetResourceVersion("1")
	if deleting {
		now := metav1.Now()
		o.SetDeletionTimestamp(&now)
		o.SetResourceVersion("2")
	}
	return o
}

func waitingFor(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// wait waits for a parent, until the watch has begun.
func (a *namespaceWaiters) wait(t *testing.T, parent, namespace string) {
	t.Helper()
	if err := a.set(controller.Key{Name: parent}, waitingFor(namespace)); err != nil {
		t.Fatal(err)
	}
	if !a.cache.WaitForSync(t.Context()) {
		t.Fatal("namespaces are not listed")
	}
}

func TestAwaited(t *testing.T) {
	a, queue, namespaces, pool := awaitedIn(t)
	if pool.Len() != 0 {
		t.Fatal("namespaces are watched though nobody waits for one")
	}
	a.wait(t, "a", "late")
	a.wait(t, "b", "other")
	if !a.isUnusable(controller.Key{Name: "a"}, "late") {
		t.Error("a namespace that is not there is tried")
	}
	if a.isUnusable(controller.Key{Name: "a"}, "other") || a.isUnusable(controller.Key{Name: "c"}, "late") {
		t.Error("a namespace that the parent does not wait for yet is not tried")
	}
	if _, err := namespaces.Create(t.Context(), namespaceNamed("late", false), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	queue.expect(t, "a")
	if a.isUnusable(controller.Key{Name: "a"}, "late") {
		t.Error("a namespace that has come is not tried")
	}
	if _, err := namespaces.Update(t.Context(), namespaceNamed("late", true), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := namespaces.Delete(t.Context(), "late", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	queue.expect(t, "a") // It is gone, which is other news than that it is being deleted.
	a.forget(controller.Key{Name: "a"})
	if pool.Len() != 1 {
		t.Error("namespaces are not watched though somebody waits for one")
	}
	a.forget(controller.Key{Name: "b"})
	if pool.Len() != 0 || len(a.parents)+len(a.byKey) != 0 {
		t.Error("namespaces are watched though nobody waits any more")
	}
	if len(queue.keys) != 0 {
		t.Errorf("%d more are woken", len(queue.keys))
	}
}

// A namespace that comes between a creation and the watch is told by the watch's first list.
func TestAwaitedThatHasCome(t *testing.T) {
	a, queue, namespaces, _ := awaitedIn(t)
	if _, err := namespaces.Create(t.Context(), namespaceNamed("late", false), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.wait(t, "a", "late")
	queue.expect(t, "a")
}

// Passes come to wait and cease to while events are under way.
func TestAwaitedByMany(t *testing.T) {
	a, queue, namespaces, pool := awaitedIn(t)
	go func() {
		for range queue.keys { // Whoever it is.
		}
	}()
	var all sync.WaitGroup
	for _, parent := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			for n := range 20 {
				if n%4 == 0 && parent == "a" {
					_, _ = namespaces.Create(context.Background(), namespaceNamed("late", false), metav1.CreateOptions{})
					_ = namespaces.Delete(context.Background(), "late", metav1.DeleteOptions{})
				}
				if err := a.set(controller.Key{Name: parent}, waitingFor("late", "other")); err != nil {
					t.Error(err)
				}
				a.forget(controller.Key{Name: parent})
			}
		})
	}
	all.Wait()
	if pool.Len() != 0 {
		t.Error("namespaces are watched though nobody waits any more")
	}
	close(queue.keys)
}
