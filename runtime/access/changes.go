package access

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
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
	begun      sync.Once
}

// RightsResources are the resources of the group rbac.authorization.k8s.io whose objects say what accounts may do.
var RightsResources = append([]string{"clusterroles", "clusterrolebindings"}, NamespacedRightsResources...)

// NamespacedRightsResources are those of them that are in namespaces.
var NamespacedRightsResources = []string{"roles", "rolebindings"}

// changeDelay is how long after a change it is reported, so that the API server has seen it too, and others of the same client with it, and
// changePause the time until the next one is: each costs reviews for all definitions with accounts.
const changeDelay, changePause = 500 * time.Millisecond, time.Second

// Begin watches until ctx ends, and calls changed after each change. Only the first call does anything.
func (c *Changes) Begin(ctx context.Context, changed func()) {
	c.begun.Do(func() {
		events := make(chan struct{}, 1)
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
		go c.notify(ctx, events, changed)
	})
}

// notify calls changed for events, once for those that come together.
func (c *Changes) notify(ctx context.Context, events <-chan struct{}, changed func()) {
	for {
		select {
		case <-events:
		case <-ctx.Done():
			return
		}
		select {
		case <-c.Clock.After(changeDelay):
		case <-ctx.Done():
			return
		}
		select {
		case <-events:
		default:
		}
		changed()
		select {
		case <-c.Clock.After(changePause):
		case <-ctx.Done():
			return
		}
	}
}

// watch watches a resource until ctx ends. After an error it begins again, later each time.
func (c *Changes) watch(ctx context.Context, resource string, client metadata.ResourceInterface, events chan<- struct{}) {
	lists := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}
	from := cache.ToListWatcherWithWatchListSemantics(lists, c.Client)
	reflector := cache.NewReflectorWithOptions(from, &metav1.PartialObjectMetadata{}, eventStore(events), cache.ReflectorOptions{
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

// eventStore keeps no object, and notes that there was an event.
type eventStore chan<- struct{}

func (s eventStore) note() error {
	select {
	case s <- struct{}{}:
	default:
	}
	return nil
}

// Add notes an object that has come.
func (s eventStore) Add(any) error { return s.note() }

// Update notes an object that has changed.
func (s eventStore) Update(any) error { return s.note() }

// Delete notes an object that is gone.
func (s eventStore) Delete(any) error { return s.note() }

// Replace notes a list.
func (s eventStore) Replace([]any, string) error { return s.note() }

// Resync does nothing.
func (s eventStore) Resync() error { return nil }
