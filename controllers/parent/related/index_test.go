package related

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/test/cluster"
)

// TestRelatedCaches checks that a parent is enqueued when the cache that it waits for is synced,
// and when the resource is removed, and that the cache is then closed.
func TestRelatedCaches(t *testing.T) {
	answer := make(chan struct{})
	listKinds := map[schema.GroupVersionResource]string{parenttest.Gadgets.GroupVersionResource: "GadgetList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds)
	client.PrependReactor("list", "gadgets", func(clienttesting.Action) (bool, runtime.Object, error) {
		<-answer
		return false, nil, nil
	})
	ctx := t.Context()
	pool := informer.NewPool(ctx, parenttest.WithoutWatchList{Interface: client}, logr.Discard())
	r := NewIndex(pool)
	defer r.Close()
	enqueued := make(chan controller.Key, 10)
	r.Queue = func(key controller.Key) { enqueued <- key }
	expect := func(want controller.Key) {
		t.Helper()
		select {
		case got := <-enqueued:
			if got != want {
				t.Errorf("%s is enqueued, want %s", got, want)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s is not enqueued", want)
		}
	}

	key := controller.Key{Name: "parent"}
	parent := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "parent", "resourceVersion": "1"}}}
	rules := []*Rule{{resource: parenttest.Gadgets, selector: labels.Everything()}}
	if err := r.Set(key, parent, Request{Revision: "", Rules: rules}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Collect(key, rules); !errors.Is(err, controller.ErrLater) {
		t.Errorf("the error before the list is %v, want ErrLater", err)
	}
	close(answer)
	expect(key)
	if _, kinds, err := r.Collect(key, rules); err != nil || !slices.Equal(kinds, []schema.GroupVersionKind{parenttest.Gadgets.Kind}) {
		t.Errorf("after the list there are the kinds %v (%v)", kinds, err)
	}

	served := true
	find := func(apiVersion, resource string) (discovery.Resource, error) {
		if served {
			return parenttest.Gadgets, nil
		}
		return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource}
	}
	r.ResourcesChanged(find)
	if _, known := r.Lookup(key, parent, "", time.Now()); !known || len(enqueued) > 0 {
		t.Errorf("a change of other resources enqueues %d parents", len(enqueued))
	}
	served = false
	r.ResourcesChanged(find)
	expect(key)
	if _, known := r.Lookup(key, parent, "", time.Now()); known {
		t.Error("the answer is kept after the resource was removed")
	}
	cluster.Eventually(t, 20*time.Second, func() error {
		if pool.Len() > 0 {
			return errors.New("a removed resource is still watched")
		}
		return nil
	})
}
