package access

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/values/listeners"
)

// Changes watches Roles and their bindings, without what they hold, to notice when what accounts may do changes. Where the host may not,
// nothing is noticed.
type Changes struct {
	// Client is one of the host's own account.
	Client metadata.Interface
	// Namespaces are those whose Roles are watched, and no ClusterRoles then. Without any all are.
	Namespaces []string
	Clock      clock.WithTicker
	Log        logr.Logger

	mu        sync.Mutex // Held while there is one listener more or less.
	listeners listeners.List[func(namespaces sets.Set[string])]
	stop      context.CancelFunc // Ends the watches.
}

// RightsResources are the resources of the group rbac.authorization.k8s.io whose objects say what accounts may do.
var RightsResources = append([]string{"clusterroles", "clusterrolebindings"}, NamespacedRightsResources...)

// NamespacedRightsResources are those of them that are in namespaces.
var NamespacedRightsResources = []string{"roles", "rolebindings"}

// changeDelay is how long after a change it is reported, so that the API server has seen it too, and others of the same client with it, and
// changePause the time until the next one is: each costs reviews for all definitions with accounts.
const changeDelay, changePause = 500 * time.Millisecond, time.Second

// Listen has changed called after each change, until ctx ends, with the namespaces in which rights have changed: an empty one stands for
// all. There are watches as long as somebody listens.
func (c *Changes) Listen(ctx context.Context, changed func(namespaces sets.Set[string])) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.listeners.All()) == 0 {
		var watching context.Context
		watching, c.stop = context.WithCancel(context.WithoutCancel(ctx))
		c.begin(watching)
	}
	remove := c.listeners.Add(changed)
	context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if remove(); len(c.listeners.All()) == 0 {
			c.stop()
		}
	})
}

// begin watches until ctx ends.
func (c *Changes) begin(ctx context.Context) {
	events := &eventStore{namespaces: sets.New[string](), wake: make(chan struct{}, 1)}
	of := func(resource string) metadata.Getter {
		return c.Client.Resource(rbacv1.SchemeGroupVersion.WithResource(resource))
	}
	for _, namespace := range c.Namespaces {
		for _, resource := range NamespacedRightsResources {
			go c.watch(ctx, resource, of(resource).Namespace(namespace), events)
		}
	}
	if len(c.Namespaces) == 0 {
		for _, resource := range RightsResources {
			go c.watch(ctx, resource, of(resource), events)
		}
	}
	go c.notify(ctx, events)
}

// notify calls the listeners for events, once for those that come together.
func (c *Changes) notify(ctx context.Context, events *eventStore) {
	for {
		select {
		case <-events.wake:
		case <-ctx.Done():
			return
		}
		select {
		case <-c.Clock.After(changeDelay):
		case <-ctx.Done():
			return
		}
		if namespaces := events.take(); len(namespaces) > 0 {
			for _, changed := range c.listeners.All() {
				changed(namespaces)
			}
		}
		select {
		case <-c.Clock.After(changePause):
		case <-ctx.Done():
			return
		}
	}
}

// watch watches a resource until ctx ends. After an error it begins again, later each time.
func (c *Changes) watch(ctx context.Context, resource string, client metadata.ResourceInterface, events *eventStore) {
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}
	from := cache.ToListWatcherWithWatchListSemantics(lists, c.Client)
	reflector := cache.NewReflectorWithOptions(from, &metav1.PartialObjectMetadata{}, events, cache.ReflectorOptions{
		Logger: &c.Log, Name: resource,
	})
	pause := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 10, Cap: 5 * time.Minute}
	_ = pause.DelayWithReset(c.Clock, 10*time.Minute).Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil {
			c.Log.V(1).Info("changes of rights are noticed late", "resource", resource, "reason", err.Error())
		}
		return false, nil
	})
}

// eventStore keeps no object, and notes where there were events.
type eventStore struct {
	wake chan struct{}

	mu         sync.Mutex
	namespaces sets.Set[string]
}

func (s *eventStore) note(obj any) error {
	namespace := ""
	if object, err := meta.Accessor(obj); err == nil {
		namespace = object.GetNamespace()
	}
	s.mu.Lock()
	s.namespaces.Insert(namespace)
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return nil
}

// take returns where there were events since it was called last.
func (s *eventStore) take() sets.Set[string] {
	s.mu.Lock()
	defer s.mu.Unlock()
	taken := s.namespaces
	s.namespaces = sets.New[string]()
	return taken
}

// Add notes an object that has come.
func (s *eventStore) Add(obj any) error { return s.note(obj) }

// Update notes an object that has changed.
func (s *eventStore) Update(obj any) error { return s.note(obj) }

// Delete notes an object that is gone.
func (s *eventStore) Delete(obj any) error { return s.note(obj) }

// Replace notes a list: what has changed since the last one is not known.
func (s *eventStore) Replace([]any, string) error { return s.note(nil) }

// Resync does nothing.
func (s *eventStore) Resync() error { return nil }
