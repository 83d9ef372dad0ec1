package render

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// patience is far more than a cache in the same process ever takes.
const patience = 30 * time.Second

// settle returns when the definition has seen all that happened in the cluster.
func (s *Session) settle(ctx context.Context) error {
	if s.running == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := s.followAll(ctx, s.running.pool); err != nil {
		return err
	}
	for i, rule := range s.running.config.Parents {
		if err := s.haunt(ctx, rule, i == 0); err != nil {
			return fmt.Errorf("events of %s are not handled: %w", rule.GroupVersionResource.Resource, err)
		}
	}
	return nil
}

// followAll waits until all caches hold what the cluster holds.
func (s *Session) followAll(ctx context.Context, pool *informer.Pool) error {
	watched, err := s.cluster.Watched(ctx, pool.Len())
	if err != nil {
		return fmt.Errorf("the caches do not begin to watch: %w", err)
	}
	for _, resource := range watched {
		if err := s.follow(ctx, pool, resource); err != nil {
			return fmt.Errorf("the cache of %s does not follow: %w", resource.Resource, err)
		}
	}
	return nil
}

// follow waits until the cache of a resource holds what the cluster holds.
func (s *Session) follow(ctx context.Context, pool *informer.Pool, resource schema.GroupVersionResource) error {
	cache := pool.Open(resource)
	defer cache.Close()
	changed := make(chan struct{}, 1)
	err := cache.Watch(func(informer.Event) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return err
	}
	want, err := s.versions(ctx, resource)
	if err != nil {
		return err
	}
	if err := listed(ctx, cache); err != nil {
		return err
	}
	for !maps.Equal(versionsOf(cache.List()), want) {
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// listed waits until a cache has been filled. Its watch has begun, so that it is a
// matter of letting others run; the caches' own wait looks ten times a second.
func listed(ctx context.Context, cache *informer.Handle) error {
	for !cache.HasSynced() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		runtime.Gosched()
	}
	return nil
}

func (s *Session) versions(ctx context.Context, resource schema.GroupVersionResource) (map[types.UID]string, error) {
	list, err := s.cluster.Client(nil).Resource(resource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	versions := map[types.UID]string{}
	for i := range list.Items {
		versions[list.Items[i].GetUID()] = list.Items[i].GetResourceVersion()
	}
	return versions, nil
}

func versionsOf(objects []*unstructured.Unstructured) map[types.UID]string {
	versions := make(map[types.UID]string, len(objects))
	for _, object := range objects {
		versions[object.GetUID()] = object.GetResourceVersion()
	}
	return versions
}

// haunt has a phantom parent pass through a resource of parents and, if asked
// for, its children and inputs through theirs.
func (s *Session) haunt(ctx context.Context, rule variant.ParentRule, all bool) error {
	key, seen := phantomKey(rule), s.running.wakes.passedBy(phantomKey(rule))
	announce := func(resource schema.GroupVersionResource, object *unstructured.Unstructured, kind watch.EventType) error {
		s.cluster.Announce(resource, kind, object)
		seen++
		return s.running.wakes.awaitPassed(ctx, key, seen)
	}
	visitor := phantom(rule.Kind, rule.Namespaced, phantomParent)
	if err := announce(rule.GroupVersionResource, visitor, watch.Added); err != nil {
		return err
	}
	for _, kind := range []watch.EventType{watch.Added, watch.Deleted} {
		for _, thing := range s.running.things(rule, all) {
			if err := announce(thing.resource, thing.object, kind); err != nil {
				return err
			}
		}
	}
	return announce(rule.GroupVersionResource, visitor, watch.Deleted)
}

// thing is a phantom and where it appears.
type thing struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
}

// things are the phantoms beside the phantom parent.
func (r *running) things(rule variant.ParentRule, all bool) []thing {
	if !all {
		return nil
	}
	var things []thing
	for _, child := range r.config.Children {
		things = append(things, thing{child.GroupVersionResource, phantomOf(rule, child.Kind, phantomChild)})
	}
	if revisions := r.config.Revisions; revisions != nil {
		things = append(things, thing{revisions.GroupVersionResource, phantomOf(rule, revisions.Kind, phantomChild)})
	}
	for _, input := range r.config.Inputs {
		things = append(things, thing{input.GroupVersionResource, phantomOf(rule, input.Kind, phantomInput)})
	}
	return things
}
