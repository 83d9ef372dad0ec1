// Package discovery knows the resources that the API server serves, and tells
// when they change. Custom resources are followed by watching their
// definitions, so that one which comes or goes is noticed at once; everything
// else is asked for now and then.
package discovery

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// Resource is an endpoint of the API server and the kind of the objects there.
type Resource struct {
	schema.GroupVersionResource
	Kind       schema.GroupVersionKind
	Namespaced bool
	// HasStatus says that there is a status subresource.
	HasStatus bool
	// Custom says that a CustomResourceDefinition defines the resource. Others are built in,
	// or served by an aggregated API.
	Custom bool
}

// NotFoundError says that the API server has no such resource at present.
type NotFoundError struct{ APIVersion, Resource string }

// Error names the resource and the usual reasons.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("the API server has no resource %q in %q: is its CustomResourceDefinition installed, and is the name the lower-case plural?", e.Resource, e.APIVersion)
}

// Config is what a Discovery is made of.
type Config struct {
	API discovery.DiscoveryInterface
	// Client lists and watches CustomResourceDefinitions.
	Client dynamic.Interface
	// Interval is how often the resources that no CustomResourceDefinition
	// defines are asked for.
	Interval time.Duration
	Clock    clock.WithTicker
	Log      logr.Logger
}

// Discovery is what is known of the API server's resources. It is used by many goroutines at once.
type Discovery struct {
	config Config
	crds   cache.SharedIndexInformer

	started atomic.Bool
	failure atomic.Pointer[error] // the last one of the watch

	mu        sync.RWMutex
	served    table                              // as the API server last said
	custom    map[schema.GroupResource]table     // by CustomResourceDefinition
	gone      map[schema.GroupResource]time.Time // definitions deleted lately
	listeners []func()

	schemaListeners []func()
}

type name struct{ apiVersion, resource string }
type table map[name]Resource

// New makes a Discovery that knows nothing until Start.
func New(config Config) *Discovery {
	d := &Discovery{
		config: config,
		crds:   newDefinitionInformer(config.Client),
		served: table{},
		custom: map[schema.GroupResource]table{},
		gone:   map[schema.GroupResource]time.Time{},
	}
	// The only error is that the informer runs already.
	_ = d.crds.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		d.failure.Store(&err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	return d
}

// Start asks for all resources once, begins to follow them until ctx ends, and
// returns when both sources are known. It fails if the API server does not answer.
func (d *Discovery) Start(ctx context.Context) error {
	if err := d.refresh(); err != nil {
		return err
	}
	registration, err := d.crds.AddEventHandler(d.definitionEvents())
	if err != nil {
		return fmt.Errorf("watching CustomResourceDefinitions: %w", err)
	}
	go d.crds.RunWithContext(ctx)
	d.started.Store(true)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		return fmt.Errorf("watching CustomResourceDefinitions: %w", context.Cause(ctx))
	}
	go d.poll(ctx)
	return nil
}

// Synced says why the API server's resources are not known yet, or nil.
func (d *Discovery) Synced() error {
	switch err := d.failure.Load(); {
	case d.crds.HasSynced():
		return nil
	case !d.started.Load():
		return errors.New("the API server has not told its resources yet")
	case err != nil:
		return fmt.Errorf("CustomResourceDefinitions are not listed yet: %w", *err)
	default:
		return errors.New("CustomResourceDefinitions are not listed yet")
	}
}

// Listen calls f after every change of what Find gives, from any goroutine. It
// must be called before Start, and f must return soon.
func (d *Discovery) Listen(f func()) { d.listeners = append(d.listeners, f) }

// ListenToSchemas calls f after every change of a CustomResourceDefinition, even one
// that is of no consequence to Find. What goes for Listen goes for it too.
func (d *Discovery) ListenToSchemas(f func()) { d.schemaListeners = append(d.schemaListeners, f) }

// Find gives a resource by the apiVersion and the plural name by which
// definitions name it, or a *NotFoundError.
func (d *Discovery) Find(apiVersion, resource string) (Resource, error) {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		group = ""
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	known := d.served
	if custom, ok := d.custom[schema.GroupResource{Group: group, Resource: resource}]; ok {
		known = custom
	}
	if r, ok := known[name{apiVersion, resource}]; ok {
		return r, nil
	}
	return Resource{}, &NotFoundError{APIVersion: apiVersion, Resource: resource}
}

// Patchable asks the API server for the resources whose objects can be listed and patched,
// each in one version. An error says which groups did not answer; the others are given.
func (d *Discovery) Patchable() ([]schema.GroupVersionResource, error) {
	lists, err := d.config.API.ServerPreferredResources()
	var found []schema.GroupVersionResource
	for _, list := range lists {
		gv, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if parseErr != nil {
			continue
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "patch") && !strings.Contains(r.Name, "/") {
				found = append(found, gv.WithResource(r.Name))
			}
		}
	}
	return found, err
}

// poll refreshes what no CustomResourceDefinition defines.
func (d *Discovery) poll(ctx context.Context) {
	ticker := d.config.Clock.NewTicker(d.config.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			if err := d.refresh(); err != nil {
				d.config.Log.Error(err, "resources may be out of date")
			}
		}
	}
}

// refresh asks the API server for its resources. Groups that do not answer keep
// what was known of them.
func (d *Discovery) refresh() error {
	start := d.config.Clock.Now()
	_, lists, err := d.config.API.ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		return fmt.Errorf("asking for the API server's resources: %w", err)
	}
	failed := failedGroups(err)
	fresh := tableOf(lists)
	d.change(func() bool {
		for n, resource := range d.served {
			if failed[resource.GroupVersion()] {
				fresh[n] = resource
			}
		}
		d.dropGone(fresh, start)
		changed := !maps.Equal(d.served, fresh)
		d.served = fresh
		return changed
	})
	return nil
}

// goneFor is how long after the deletion of a CustomResourceDefinition the API
// server's discovery may still list its resource.
const goneFor = time.Minute

// dropGone takes out of a fresh answer what the API server has not yet noticed to be deleted.
func (d *Discovery) dropGone(fresh table, asked time.Time) {
	for gr, when := range d.gone {
		if asked.Sub(when) > goneFor {
			delete(d.gone, gr)
			continue
		}
		maps.DeleteFunc(fresh, func(_ name, r Resource) bool { return r.GroupResource() == gr })
	}
}

// change makes a change under the lock and tells the listeners if it gives true.
func (d *Discovery) change(f func() bool) {
	d.mu.Lock()
	changed := f()
	d.mu.Unlock()
	if !changed {
		return
	}
	for _, listener := range d.listeners {
		listener()
	}
}

func failedGroups(err error) map[schema.GroupVersion]bool {
	failed := map[schema.GroupVersion]bool{}
	if groups, ok := discovery.GroupDiscoveryFailedErrorGroups(err); ok {
		for gv := range groups {
			failed[gv] = true
		}
	}
	return failed
}

// tableOf reads the API server's lists, in which a subresource is an entry "pods/status".
func tableOf(lists []*metav1.APIResourceList) table {
	t := table{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		withStatus := map[string]bool{}
		for _, r := range list.APIResources {
			if parent, sub, ok := strings.Cut(r.Name, "/"); ok && sub == "status" {
				withStatus[parent] = true
			}
		}
		for _, r := range list.APIResources {
			if !strings.Contains(r.Name, "/") {
				t[name{list.GroupVersion, r.Name}] = Resource{
					GroupVersionResource: gv.WithResource(r.Name), Kind: gv.WithKind(r.Kind),
					Namespaced: r.Namespaced, HasStatus: withStatus[r.Name],
				}
			}
		}
	}
	return t
}
