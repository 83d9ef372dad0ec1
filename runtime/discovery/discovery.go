// Package discovery tracks the resources that the API server serves, and notifies listeners of changes.
// It watches CustomResourceDefinitions, so that added and removed custom resources are noticed at once.
// It polls for all other resources.
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
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/values/listeners"
)

// Resource is an endpoint of the API server and the kind of its objects.
type Resource struct {
	schema.GroupVersionResource
	Kind       schema.GroupVersionKind
	Namespaced bool
	// HasStatus reports whether there is a status subresource.
	HasStatus bool
	// Custom reports whether a CustomResourceDefinition defines the resource. Other resources are built in,
	// or served by an aggregated API.
	Custom bool
}

// NotFoundError means that the API server has no such resource at present.
type NotFoundError struct {
	APIVersion, Resource string
	// Hint is which resource may be meant, or empty.
	Hint string
}

// Error names the resource, and what may be meant or the usual reasons.
func (e *NotFoundError) Error() string {
	switch {
	case e.Hint != "" && !strings.Contains(e.APIVersion, "."): // No CustomResourceDefinition has such a group.
		return fmt.Sprintf("the API server has no resource %q in %q: %s", e.Resource, e.APIVersion, e.Hint)
	case e.Hint != "":
		return fmt.Sprintf("the API server has no resource %q in %q: is its CustomResourceDefinition installed? %s", e.Resource, e.APIVersion,
			e.Hint)
	}
	return fmt.Sprintf("the API server has no resource %q in %q: is its CustomResourceDefinition installed, "+
		"and is the name the lower-case plural?", e.Resource, e.APIVersion)
}

// Config configures a Discovery.
type Config struct {
	API discovery.DiscoveryInterface
	// Client lists and watches CustomResourceDefinitions. If it is nil, as in a host that may not, all resources are polled for, and those
	// are custom ones that Kubernetes' own types do not have.
	Client dynamic.Interface
	// Interval is how often to poll for resources without a CustomResourceDefinition.
	Interval time.Duration
	Clock    clock.WithTicker
	Log      logr.Logger
}

// Discovery holds the API server's resources. It is safe for concurrent use.
type Discovery struct {
	config Config
	crds   cache.SharedIndexInformer // nil without a client.

	started  atomic.Bool
	watchErr atomic.Pointer[error] // The last error of the watch.

	mu      sync.RWMutex
	served  table                              // From the last poll.
	custom  map[schema.GroupResource]table     // From CustomResourceDefinitions.
	deleted map[schema.GroupResource]time.Time // Recently deleted CustomResourceDefinitions.

	listeners, schemaListeners listeners.List[func()]
}

type tableKey struct{ apiVersion, resource string }
type table map[tableKey]Resource

// New returns a Discovery that has no resources until Start.
func New(config Config) *Discovery {
	d := &Discovery{
		config:  config,
		served:  table{},
		custom:  map[schema.GroupResource]table{},
		deleted: map[schema.GroupResource]time.Time{},
	}
	if config.Client == nil {
		return d
	}
	d.crds = newCRDInformer(config.Client)
	// It fails only for an informer that is running.
	_ = d.crds.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		d.watchErr.Store(&err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
	return d
}

// Start polls once, starts the watch until ctx ends, and returns when both have synced. It fails if the
// API server does not answer.
func (d *Discovery) Start(ctx context.Context) error {
	if err := d.refresh(); err != nil {
		return err
	}
	if d.crds == nil {
		d.started.Store(true)
		go d.poll(ctx)
		return nil
	}
	registration, err := d.crds.AddEventHandler(d.crdHandler())
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

// Synced returns why the resources are not known yet, or nil.
func (d *Discovery) Synced() error {
	switch err := d.watchErr.Load(); {
	case !d.started.Load():
		return errors.New("the resources of the API server are not known yet")
	case d.crds == nil || d.crds.HasSynced():
		return nil
	case err != nil:
		return fmt.Errorf("CustomResourceDefinitions are not listed yet: %w", *err)
	default:
		return errors.New("CustomResourceDefinitions are not listed yet")
	}
}

// Listen has f called after every change of the resources, from any goroutine, until stop is called: a call that is under way then goes on.
// f must return soon.
func (d *Discovery) Listen(f func()) (stop func()) { return d.listeners.Add(f) }

// ListenToSchemas has f called after every change of a CustomResourceDefinition, even if no resource has changed. The rules of Listen
// apply.
func (d *Discovery) ListenToSchemas(f func()) (stop func()) { return d.schemaListeners.Add(f) }

// notify calls listeners.
func notify(of *listeners.List[func()]) {
	for _, listener := range of.All() {
		listener()
	}
}

// Find returns a resource by its apiVersion and plural name, or a *NotFoundError.
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
	if r, ok := known[tableKey{apiVersion, resource}]; ok {
		return r, nil
	}
	return Resource{}, &NotFoundError{APIVersion: apiVersion, Resource: resource, Hint: Hint(apiVersion, resource, d.all())}
}

// DefinitionVersion returns what changes with each change of the CustomResourceDefinition of a resource, or "" if it has none.
func (d *Discovery) DefinitionVersion(resource schema.GroupResource) string {
	if d.crds == nil {
		return ""
	}
	object, found, err := d.crds.GetStore().GetByKey(resource.String())
	crd, ok := object.(metav1.Object)
	if err != nil || !found || !ok {
		return ""
	}
	return fmt.Sprintf("%s/%d", crd.GetUID(), crd.GetGeneration())
}

// Patchable asks the API server for the resources whose objects can be listed and patched, each in one
// version. If the error is not nil, it names the groups that did not answer, and the result has the others.
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

// poll refreshes resources without a CustomResourceDefinition.
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

// refresh gets the resources from the API server. A group that does not answer keeps its last known
// resources.
func (d *Discovery) refresh() error {
	start := d.config.Clock.Now()
	_, lists, err := d.config.API.ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		return fmt.Errorf("asking for the API server's resources: %w", err)
	}
	failed := failedGroups(err)
	fresh := tableOf(lists)
	if d.crds == nil {
		for key, resource := range fresh {
			resource.Custom = !scheme.Scheme.Recognizes(resource.Kind)
			fresh[key] = resource
		}
	}
	d.update(func() bool {
		for n, resource := range d.served {
			if failed[resource.GroupVersion()] {
				fresh[n] = resource
			}
		}
		d.dropDeleted(fresh, start)
		changed := !maps.Equal(d.served, fresh)
		d.served = fresh
		return changed
	})
	return nil
}

// deletedTTL is how long after the deletion of a CustomResourceDefinition the API server's discovery may
// still list its resource.
const deletedTTL = time.Minute

// dropDeleted removes resources from a fresh table whose deletion the API server's discovery has not
// noticed yet.
func (d *Discovery) dropDeleted(fresh table, asked time.Time) {
	for gr, when := range d.deleted {
		if asked.Sub(when) > deletedTTL {
			delete(d.deleted, gr)
			continue
		}
		maps.DeleteFunc(fresh, func(_ tableKey, r Resource) bool { return r.GroupResource() == gr })
	}
}

// update calls f with the lock held, and notifies the listeners if f returns true.
func (d *Discovery) update(f func() bool) {
	d.mu.Lock()
	changed := f()
	d.mu.Unlock()
	if changed {
		notify(&d.listeners)
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

// List asks the API server once for the resources that it serves. Which of them are custom ones it does not tell. Groups that do not answer
// are left out.
func List(api discovery.DiscoveryInterface) ([]Resource, error) {
	_, lists, err := api.ServerGroupsAndResources()
	if err != nil && len(lists) == 0 {
		return nil, fmt.Errorf("asking for the API server's resources: %w", err)
	}
	return slices.Collect(maps.Values(tableOf(lists))), nil
}

// tableOf converts the API server's lists, in which a subresource is an entry such as "pods/status".
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
				t[tableKey{list.GroupVersion, r.Name}] = Resource{
					GroupVersionResource: gv.WithResource(r.Name), Kind: gv.WithKind(r.Kind),
					Namespaced: r.Namespaced, HasStatus: withStatus[r.Name],
				}
			}
		}
	}
	return t
}
