package finalizers

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// search removes the finalizers of definitions that were deleted while no host was
// running. A definition that exists keeps its finalizers, even if it can't run or is for
// another host.
type search struct {
	// find returns the resource of a kind of definition.
	find       func(apiVersion, resource string) (discovery.Resource, error)
	finalizers parent.Finalizers
	log        logr.Logger
	// defined are the finalizers of existing definitions.
	defined map[string]bool
	removed int
	// found are the resources of which objects have finalizers of definitions.
	found []string
}

const (
	// pageInterval is the pause between two pages of objects.
	pageInterval = 100 * time.Millisecond
	// maxSearches is how often a failing resource is tried, every searchRetryDelay.
	maxSearches      = 3
	searchRetryDelay = time.Minute
)

// searchable reports whether to search a resource. Events are numerous and expire within an
// hour.
func searchable(resource schema.GroupVersionResource) bool {
	return resource.Resource != "events"
}

// ReleaseAbandoned searches the objects of the resources in the record once, slowly, or those of all if there is none, and removes the
// finalizers of definitions that are gone: in the host's namespaces, or everywhere if it has none. It begins once synced returns no
// error, and returns when all is done or ctx ends. It does nothing for a nil record.
func (r *Record) ReleaseAbandoned(ctx context.Context, synced func() error, served *discovery.Discovery, env *parent.Environment) {
	if r == nil {
		return
	}
	pause := func(ctx context.Context, d time.Duration) error { return sleep(ctx, env.Clock, d) }
	for synced() != nil {
		if pause(ctx, time.Second) != nil {
			return
		}
	}
	a := &search{
		find: served.Find, log: env.Log.WithName("finalizers"), defined: map[string]bool{},
		finalizers: parent.Finalizers{
			Client: env.Metadata, Parallel: env.Writes, Namespaces: r.namespaces,
			Pause: func(ctx context.Context) error { return pause(ctx, pageInterval) },
		},
	}
	left, err := served.Patchable()
	if err != nil {
		a.log.Error(err, "some resources are not looked through for finalizers of definitions that are gone")
	}
	recorded, isRecorded := r.resources(ctx)
	left = slices.DeleteFunc(left, func(resource schema.GroupVersionResource) bool {
		return !searchable(resource) || isRecorded && !recorded.Has(resource.GroupResource().String())
	})
	all, forbidden := len(left), []string(nil)
	for range maxSearches {
		var refused []string
		left, refused = a.search(ctx, left)
		forbidden = append(forbidden, refused...)
		if len(left) == 0 || pause(ctx, searchRetryDelay) != nil {
			break
		}
	}
	if !isRecorded && err == nil && len(left) == 0 {
		if err := r.finish(ctx, append(a.found, forbidden...)); err != nil {
			a.log.Info("the next start will look through all resources again: what was found can't be recorded",
				"configMap", r.namespace+"/"+r.name, "reason", err.Error())
		}
	}
	a.log.Info("finalizers of definitions that are gone have been looked for",
		"resources", all-len(left)-len(forbidden), "takenOff", a.removed, "forbidden", forbidden)
}

// search searches resources. It returns those that failed and the names of those that are
// forbidden.
func (a *search) search(
	ctx context.Context, resources []schema.GroupVersionResource,
) (failed []schema.GroupVersionResource, forbidden []string) {
	for _, resource := range resources {
		err := a.searchOne(ctx, resource)
		switch {
		case err == nil, apierrors.IsMethodNotSupported(err):
		case ctx.Err() != nil:
			return append(failed, resource), forbidden
		case apierrors.IsForbidden(err):
			forbidden = append(forbidden, resource.GroupResource().String())
		default:
			a.log.Error(err, "finalizers of definitions that are gone could not be looked for", "resource", resource.GroupResource().String())
			failed = append(failed, resource)
		}
	}
	return failed, forbidden
}

// searchOne searches one resource.
func (a *search) searchOne(ctx context.Context, resource schema.GroupVersionResource) error {
	names, err := a.finalizers.Names(ctx, resource)
	if err != nil {
		return err
	}
	candidates := map[string]string{} // kinds of definition by finalizer
	for name := range names {
		kind := v1alpha1.FinalizerKind(name)
		if kind == "" || !a.isOwn(kind, name) {
			continue
		}
		if a.found = append(a.found, resource.GroupResource().String()); !a.defined[name] {
			candidates[name] = kind
		}
	}
	if len(candidates) == 0 {
		return nil
	}
	// Definitions are listed before each page, as one may have been created again.
	finalizers := a.finalizers
	finalizers.Pause = func(ctx context.Context) error {
		return errors.Join(a.finalizers.Pause(ctx), a.listDefinitions(ctx, candidates))
	}
	taken, err := finalizers.Remove(ctx, resource, func(name string) bool { return candidates[name] != "" && !a.defined[name] })
	if a.removed += taken; taken > 0 {
		a.log.Info("finalizers of definitions that are gone were taken off", "resource", resource.GroupResource().String(), "objects", taken)
	}
	return err
}

// isOwn reports whether a finalizer is of a definition that this host would know of.
func (a *search) isOwn(kind, finalizer string) bool {
	return slices.ContainsFunc(a.finalizers.InNamespaces(), func(namespace string) bool {
		prefix := v1alpha1.UniqueName(&metav1.ObjectMeta{Namespace: namespace})
		return namespace == "" || strings.HasPrefix(finalizer, v1alpha1.FinalizerOf(kind, prefix))
	})
}

// listDefinitions lists the definitions of the kinds of finalizers. It returns an error if a
// kind is not served.
func (a *search) listDefinitions(ctx context.Context, finalizers map[string]string) error {
	kinds := slices.Collect(maps.Values(finalizers))
	for _, kind := range v1alpha1.DefinitionTypes(a.finalizers.Namespaces...) {
		if !slices.Contains(kinds, kind.Kind) {
			continue
		}
		if err := a.listKind(ctx, kind); err != nil {
			return fmt.Errorf("finding a %s of %s: %w", kind.Kind, kind.Group, err)
		}
	}
	return nil
}

// listKind lists the definitions of a kind. One that is not served has none if it is of the group that need not be installed.
func (a *search) listKind(ctx context.Context, kind schema.GroupVersionKind) error {
	resource := v1alpha1.DefinitionResource(kind)
	_, err := a.find(resource.GroupVersion().String(), resource.Resource)
	if missing := (*discovery.NotFoundError)(nil); errors.As(err, &missing) && v1alpha1.IsNamespaced(kind.Group) {
		return nil
	} else if err != nil {
		return err
	}
	for _, namespace := range a.finalizers.InNamespaces() {
		options := metav1.ListOptions{Limit: 500}
		for {
			page, err := a.finalizers.Client.Resource(resource).Namespace(namespace).List(ctx, options)
			if err != nil {
				return err
			}
			for i := range page.Items {
				a.defined[v1alpha1.FinalizerOf(kind.Kind, v1alpha1.UniqueName(&page.Items[i]))] = true
			}
			if options.Continue = page.Continue; options.Continue == "" {
				break
			}
		}
	}
	return nil
}

// sleep waits for d or until ctx ends.
func sleep(ctx context.Context, clock clock.WithTicker, d time.Duration) error {
	timer := clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
