package informer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// TestLacks tells an object that is gone from one that is yet to come.
func TestLacks(t *testing.T) {
	boxes := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "boxes"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{boxes: "BoxList"})
	events := watch.NewFake()
	client.PrependWatchReactor("*", clienttesting.DefaultWatchReactor(events, nil))
	handle := NewPool(t.Context(), client, logr.Discard()).Open(boxes)
	defer handle.Close()
	if !handle.WaitForSync(t.Context()) {
		t.Fatal("the cache does not sync")
	}
	box := func(name, version string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Box"}}
		object.SetName(name)
		object.SetUID(types.UID("uid-of-" + name))
		object.SetResourceVersion(version)
		return object
	}
	events.Add(box("a", "7"))
	await(t, func() bool { return handle.Get("", "a") != nil })
	another := box("a", "6")
	another.SetUID("another")
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   bool
	}{
		"there":                           {box("a", "7"), false},
		"there, in an older version":      {box("a", "5"), false},
		"gone before the newest event":    {box("b", "6"), true},
		"another one of a name":           {another, true},
		"to come":                         {box("b", "8"), false},
		"of no version that can be known": {box("b", "x"), false},
	} {
		if got := handle.Lacks(c.object); got != c.want {
			t.Errorf("%s: the cache lacks it: %v, want %v", name, got, c.want)
		}
	}
}

// TestHandled checks that a change counts as handled only after every event handler has returned.
func TestHandled(t *testing.T) {
	boxes := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "boxes"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{boxes: "BoxList"})
	events := watch.NewFake()
	client.PrependWatchReactor("*", clienttesting.DefaultWatchReactor(events, nil))
	pool := NewPool(t.Context(), client, logr.Discard())
	cache := pool.Open(boxes)
	defer cache.Close()
	other := pool.Open(boxes)
	defer other.Close()
	release := make(chan struct{})
	for handle, f := range map[*Handle]func(Event){cache: func(Event) {}, other: func(Event) { <-release }} {
		if err := handle.Watch(f); err != nil {
			t.Fatal(err)
		}
	}
	if !cache.WaitForSync(t.Context()) {
		t.Fatal("the cache does not sync")
	}
	box := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Box"}}
	box.SetName("a")
	box.SetResourceVersion("7")
	events.Add(box)
	await(t, func() bool { return cache.Get("", "a") != nil && cache.handled(7) })
	if pool.Handled(boxes, 7) {
		t.Error("version 7 is handled while a handler runs")
	}
	close(release)
	await(t, func() bool { return pool.Handled(boxes, 7) })
	if pool.Handled(boxes, 8) {
		t.Error("version 8 is handled before it has come")
	}
	late := pool.Open(boxes)
	defer late.Close()
	if err := late.Watch(func(Event) {}); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return pool.Handled(boxes, 7) })
}

// TestIn has a pool of one namespace see nothing of others, and share its informer with others of that namespace.
func TestIn(t *testing.T) {
	things := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	thing := func(namespace string) *unstructured.Unstructured {
		thing := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Thing"}}
		thing.SetName("a")
		thing.SetNamespace(namespace)
		return thing
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{things: "ThingList"}, thing("shop"), thing("blog"))
	pool := NewPool(t.Context(), client, logr.Discard())
	all, shop, again := pool.Open(things), pool.In("shop").Open(things), pool.In("shop").Open(things)
	for handle, want := range map[*Handle]int{all: 2, shop: 1, again: 1} {
		if !handle.WaitForSync(t.Context()) || len(handle.List()) != want {
			t.Errorf("%d objects in %s, want %d", len(handle.List()), handle.scope, want)
		}
	}
	if pool.Len() != 2 || shop.shared != again.shared {
		t.Errorf("%d informers", pool.Len())
	}
	if pool.In("blog").Share(things) != nil {
		t.Error("the cache of another namespace is shared")
	}
	for _, handle := range []*Handle{shop, again, all} {
		handle.Close()
	}
	if pool.Len() != 0 {
		t.Errorf("%d informers are left", pool.Len())
	}
}

// TestReadSecretsAs has one cache of Secrets for each account that reads them, whose requests are the account's, and one for all of the rest.
func TestReadSecretsAs(t *testing.T) {
	secrets, configMaps := corev1.SchemeGroupVersion.WithResource("secrets"), corev1.SchemeGroupVersion.WithResource("configmaps")
	a, b := identity.Account{Namespace: "shop", Name: "a"}, identity.Account{Namespace: "shop", Name: "b"}
	readers := make(chan string, 100)
	pool := newPool(t.Context(), logr.Discard())
	pool.newInformer = func(_ *sharedInformer, of scope) cache.SharedIndexInformer {
		refuse := func(ctx context.Context) error {
			account, _ := identity.AccountOf(ctx)
			readers <- of.Resource + " by " + account.String()
			return apierrors.NewForbidden(of.GroupResource(), "", errors.New("no"))
		}
		return cache.NewSharedIndexInformerWithOptions(&cache.ListWatch{
			ListWithContextFunc:  func(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) { return nil, refuse(ctx) },
			WatchFuncWithContext: func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, error) { return nil, refuse(ctx) },
		}, &unstructured.Unstructured{}, cache.SharedIndexInformerOptions{Indexers: indexers()})
	}
	shop := pool.In("shop")
	var handles []*Handle
	for _, pool := range []*Pool{shop, shop.ReadSecretsAs(a), shop.ReadSecretsAs(a), shop.ReadSecretsAs(b)} {
		handles = append(handles, pool.Open(secrets), pool.Open(configMaps))
	}
	if pool.Len() != 4 {
		t.Errorf("%d informers, want 4", pool.Len())
	}
	read := map[string]bool{}
	for len(read) < 4 {
		read[<-readers] = true
	}
	for _, want := range []string{"secrets by the host's account", "configmaps by the host's account", "secrets by ServiceAccount shop/a", "secrets by ServiceAccount shop/b"} {
		if !read[want] {
			t.Errorf("read were %v, want %s", read, want)
		}
	}
	await(t, func() bool { return handles[0].Err() != nil && handles[2].Err() != nil })
	for i, want := range map[int]string{0: "the host needs a rule", 2: "ServiceAccount shop/a needs a rule {apiGroups: [\"\"], resources: [secrets]"} {
		if err := handles[i].Err(); !strings.Contains(err.Error(), want) {
			t.Errorf("error %q, want %q", err, want)
		}
	}
	for _, handle := range handles {
		handle.Close()
	}
}

func await(t *testing.T, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the change is not handled")
		}
	}
}
