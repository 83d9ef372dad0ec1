package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// endedPoll is how often a wait looks whether it is in vain.
const endedPoll = 200 * time.Millisecond

var errLibrettoEnded = errors.New("libretto has ended")

// watch notes all that happens to the resources of the demo. What is waited for and how long it took are then questions
// to its notes.
type watch struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	seen    sightings
	changed chan struct{} // closed at the next sighting
}

// startWatch returns when everything that there is has been seen.
func (d *demo) startWatch(ctx context.Context) (*watch, error) {
	running, cancel := context.WithCancel(ctx)
	w := &watch{cancel: cancel, changed: make(chan struct{})}
	var synced []cache.InformerSynced
	for resource, namespace := range map[schema.GroupVersionResource]string{
		pods: demoNamespace, claims: demoNamespace, catsets: demoNamespace, configMaps: scriptNamespace, composites: "",
	} {
		informer, err := w.follow(d.cluster.Dynamic(), resource, namespace)
		if err != nil {
			cancel()
			return nil, err
		}
		go informer.RunWithContext(running)
		synced = append(synced, informer.HasSynced)
	}
	waiting, done := context.WithTimeout(running, d.limit)
	defer done()
	if !cache.WaitForCacheSync(waiting.Done(), synced...) {
		cancel()
		return nil, fmt.Errorf("watch of the demo's objects: %w", context.Cause(waiting))
	}
	return w, nil
}

func (w *watch) follow(client dynamic.Interface, resource schema.GroupVersionResource, namespace string) (cache.SharedIndexInformer, error) {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, namespace, 0, cache.Indexers{}, nil).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.note(resource, object, false) },
		UpdateFunc: func(_, object any) { w.note(resource, object, false) },
		DeleteFunc: func(object any) { w.note(resource, object, true) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch of %s: %w", resource.Resource, err)
	}
	return informer, nil
}

func (w *watch) note(resource schema.GroupVersionResource, object any, gone bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	known, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, sighting{at: time.Now(), resource: resource, object: known, gone: gone})
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watch) stop() { w.cancel() }

// all is everything that was seen so far.
func (w *watch) all() sightings { return w.since(0) }

// mark is the present moment, to ask for what is seen since.
func (w *watch) mark() int { return len(w.all()) }

func (w *watch) since(mark int) sightings {
	seen, _ := w.now()
	return seen[mark:]
}

// now is what was seen, and a channel that is closed when there is more.
func (w *watch) now() (sightings, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.seen), w.changed
}

// await looks at every sighting until the check holds. It returns what was seen last.
func (w *watch) await(ctx context.Context, c check, ended func() bool) (string, error) {
	ticker := time.NewTicker(endedPoll)
	defer ticker.Stop()
	for {
		log, changed := w.now()
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
