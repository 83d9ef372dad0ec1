package definition

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestIsOlder orders the definitions of a namespace, so that a new one takes no place of another.
func TestIsOlder(t *testing.T) {
	definition := func(kind, name, created string, accepted bool) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "libretto.dev/v1alpha1", "kind": kind,
			"metadata": map[string]any{"name": name, "namespace": "shop", "creationTimestamp": created},
		}}
		if accepted {
			object.Object["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Accepted", "status": "True"}}}
		}
		return object
	}
	ordered := []*unstructured.Unstructured{
		definition("MapController", "z", "2026-01-01T00:00:00Z", false),
		definition("DecoratorController", "z", "2026-01-01T00:00:01Z", true),
		definition("CompositeController", "a", "2026-01-01T00:00:01Z", false),
		definition("CompositeController", "b", "2026-01-01T00:00:01Z", false),
		definition("DecoratorController", "a", "2026-01-01T00:00:01Z", false),
		definition("CompositeController", "a", "2026-01-01T00:00:02Z", true),
	}
	for i, a := range ordered {
		for j, b := range ordered {
			if got := isOlder(a, b); got != (i < j) {
				t.Errorf("definition %d is older than %d: %v", i, j, got)
			}
		}
	}
}

// countingReconciler counts how many reconciles run at once, until release is closed.
type countingReconciler struct {
	running, most atomic.Int64
	release       chan struct{}
}

func (c *countingReconciler) Reconcile(context.Context, controller.Key) (controller.Result, error) {
	c.most.Store(max(c.most.Load(), c.running.Add(1)))
	<-c.release
	c.running.Add(-1)
	return controller.Result{}, nil
}

// TestSharedWorkers has all definitions of a namespace share the workers of one.
func TestSharedWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &Reconciler{config: Config{Workers: 2}, workers: map[string]chan struct{}{}}
		inner := map[string]*countingReconciler{}
		var all sync.WaitGroup
		for _, namespace := range []string{"shop", "blog", ""} {
			inner[namespace] = &countingReconciler{release: make(chan struct{})}
			for range 3 { // Definitions, with three workers each.
				reconciler := r.withWorkersOf(namespace, inner[namespace])
				for range 3 {
					all.Go(func() { _, _ = reconciler.Reconcile(t.Context(), controller.Key{}) })
				}
			}
		}
		synctest.Wait()
		got := fmt.Sprint(inner["shop"].running.Load(), inner["blog"].running.Load(), inner[""].running.Load())
		if got != "2 2 9" {
			t.Errorf("%s parents are reconciled at once, want 2 2 9", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := r.withWorkersOf("shop", inner["shop"]).Reconcile(ctx, controller.Key{}); err == nil {
			t.Error("a reconcile that is to end waits")
		}
		for _, c := range inner {
			close(c.release)
		}
		all.Wait()
		if most := inner["shop"].most.Load(); most != 2 {
			t.Errorf("%d parents were reconciled at once, want 2", most)
		}
	})
}
