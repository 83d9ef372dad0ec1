package related

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// TestUnservedResource checks which parents are enqueued when a resource is served.
func TestUnservedResource(t *testing.T) {
	r := NewIndex(nil)
	defer r.Close()
	var enqueued []string
	r.Queue = func(key controller.Key) { enqueued = append(enqueued, key.Name) }
	gadgets, gizmos := resourceName{"example.com/v1", "gadgets"}, resourceName{"example.com/v1", "gizmos"}
	r.AwaitResource(controller.Key{Name: "a"}, gadgets.apiVersion, gadgets.resource)
	r.AwaitResource(controller.Key{Name: "b"}, gizmos.apiVersion, gizmos.resource)
	r.AwaitResource(controller.Key{Name: "gone"}, gadgets.apiVersion, gadgets.resource)
	r.Forget(controller.Key{Name: "gone"})
	served := map[resourceName]bool{}
	find := func(apiVersion, resource string) (discovery.Resource, error) {
		if served[resourceName{apiVersion, resource}] {
			return discovery.Resource{}, nil
		}
		return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource}
	}
	for _, step := range []struct {
		serve resourceName
		want  []string
	}{{resourceName{"example.com/v2", "gadgets"}, nil}, {gadgets, []string{"a"}}, {gizmos, []string{"b"}}, {gizmos, nil}} {
		enqueued = nil
		served[step.serve] = true
		r.ResourcesChanged(find)
		if diff := cmp.Diff(step.want, enqueued); diff != "" {
			t.Errorf("after %v, -want +got:\n%s", step.serve, diff)
		}
	}
}

// TestOneUnservedResource checks that a parent waits for the last resource that its hook named, so that
// a hook which names another one each time leaves nothing behind.
func TestOneUnservedResource(t *testing.T) {
	r := NewIndex(nil)
	defer r.Close()
	for i := range 1000 {
		r.AwaitResource(controller.Key{Name: "a"}, "example.com/v1", fmt.Sprint("nonsuches-", i))
	}
	if len(r.awaited) != 1 {
		t.Errorf("%d resources are waited for, want 1", len(r.awaited))
	}
}

// TestRelatedCacheWithoutQueue has a cache filled before the events of the definition are handled.
func TestRelatedCacheWithoutQueue(t *testing.T) {
	NewIndex(nil).enqueueAll(map[controller.Key]bool{{Name: "a"}: true})
}
