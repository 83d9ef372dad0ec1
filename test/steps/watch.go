package steps

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// endedPoll is the interval of checks whether libretto still runs.
const endedPoll = 200 * time.Millisecond

var errLibrettoEnded = errors.New("libretto has ended")

// Watch records all changes of resources with their times.
type Watch struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	log     Observations
	changed chan struct{} // Closed at the next Observation.
}

// StartWatch watches resources, each in a namespace or in all, and returns after the initial lists, or when the limit has passed.
func StartWatch(
	ctx context.Context, client dynamic.Interface, resources map[schema.GroupVersionResource]string, limit time.Duration,
) (*Watch, error) {
	running, cancel := context.WithCancel(ctx)
	w := &Watch{cancel: cancel, changed: make(chan struct{})}
	var synced []cache.InformerSynced
	for resource, namespace := range resources {
		informer, err := w.follow(client, resource, namespace)
		if err != nil {
			cancel()
			return nil, err
		}
		go informer.RunWithContext(running)
		synced = append(synced, informer.HasSynced)
	}
	waiting, done := context.WithTimeout(running, limit)
	defer done()
	if !cache.WaitForCacheSync(waiting.Done(), synced...) {
		cancel()
		return nil, fmt.Errorf("watch of the objects: %w", context.Cause(waiting))
	}
	return w, nil
}

func (w *Watch) follow(
	client dynamic.Interface, resource schema.GroupVersionResource, namespace string,
) (cache.SharedIndexInformer, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, namespace, 0, cache.Indexers{}, nil).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.observe(resource, object, false) },
		UpdateFunc: func(_, object any) { w.observe(resource, object, false) },
		DeleteFunc: func(object any) { w.observe(resource, object, true) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch of %s: %w", resource.Resource, err)
	}
	return informer, nil
}

func (w *Watch) observe(resource schema.GroupVersionResource, object any, gone bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	known, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, Observation{At: time.Now(), Resource: resource, Object: known, Deleted: gone})
	close(w.changed)
	w.changed = make(chan struct{})
}

// Stop ends the watch.
func (w *Watch) Stop() { w.cancel() }

// All returns all Observations.
func (w *Watch) All() Observations { return w.Since(0) }

// Mark returns the present position for Since.
func (w *Watch) Mark() int { return len(w.All()) }

// Since returns what was observed after a mark.
func (w *Watch) Since(mark int) Observations {
	seen, _ := w.snapshot()
	return seen[mark:]
}

// snapshot returns all Observations, and a channel that is closed at the next one.
func (w *Watch) snapshot() (Observations, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.log), w.changed
}

// Await waits until the check passes. It returns the check's last description.
func (w *Watch) Await(ctx context.Context, c Check, ended func() bool) (string, error) {
	ticker := time.NewTicker(endedPoll)
	defer ticker.Stop()
	for {
		log, changed := w.snapshot()
		seen, done := c(log)
		if done {
			return seen, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-ticker.C:
			if ended() {
				return seen, errLibrettoEnded
			}
		}
	}
}

// Check looks at all observations. It returns a description of the present state, and whether it is the expected one.
type Check func(Observations) (seen string, done bool)

// All returns a check that passes if all checks pass.
func All(checks ...Check) Check {
	return func(log Observations) (string, bool) {
		var reports []string
		whole := true
		for _, c := range checks {
			seen, done := c(log)
			reports = append(reports, seen)
			whole = whole && done
		}
		return strings.Join(reports, "; "), whole
	}
}

// Observation is a watch event with its time.
type Observation struct {
	At       time.Time
	Resource schema.GroupVersionResource
	Object   *unstructured.Unstructured
	Deleted  bool
}

// Is reports whether it is of the named object.
func (s Observation) Is(resource schema.GroupVersionResource, name string) bool {
	return s.Resource == resource && s.Object.GetName() == name
}

// Observations are ordered by time. For a resource that is the order of its changes.
type Observations []Observation

// First returns the first Observation that matches.
func (l Observations) First(match func(Observation) bool) (Observation, bool) {
	i := slices.IndexFunc(l, match)
	if i < 0 {
		return Observation{}, false
	}
	return l[i], true
}

// Get returns the newest version of an object, or nil if it is deleted.
func (l Observations) Get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	for _, s := range slices.Backward(l) {
		if s.Is(resource, name) {
			if s.Deleted {
				return nil
			}
			return s.Object
		}
	}
	return nil
}

// List returns the present objects of a resource by name.
func (l Observations) List(resource schema.GroupVersionResource) []*unstructured.Unstructured {
	newest := map[string]*unstructured.Unstructured{}
	for _, s := range l {
		switch {
		case s.Resource != resource:
		case s.Deleted:
			delete(newest, s.Object.GetName())
		default:
			newest[s.Object.GetName()] = s.Object
		}
	}
	var objects []*unstructured.Unstructured
	for _, object := range newest {
		objects = append(objects, object)
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objects
}

// Condition returns the status and message of an object's condition.
func Condition(object *unstructured.Unstructured, kind string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, _ := entry.(map[string]any); c["type"] == kind {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
		}
	}
	return status, message
}

// IsReady reports whether the condition Ready of an object is True, and the object is not being deleted.
func IsReady(object *unstructured.Unstructured) bool {
	status, _ := Condition(object, "Ready")
	return status == "True" && object.GetDeletionTimestamp() == nil
}
