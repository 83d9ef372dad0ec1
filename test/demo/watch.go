package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
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

// sighting is one thing that a watch told, and when.
type sighting struct {
	at       time.Time
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	gone     bool
}

// is says whether it is of the named object.
func (s sighting) is(resource schema.GroupVersionResource, name string) bool {
	return s.resource == resource && s.object.GetName() == name
}

// sightings are in the order in which they were made. For one resource that is the order in which things happened.
type sightings []sighting

// first is the first that matches.
func (l sightings) first(match func(sighting) bool) (sighting, bool) {
	i := slices.IndexFunc(l, match)
	if i < 0 {
		return sighting{}, false
	}
	return l[i], true
}

// get is the newest version of an object, or nil if there is none now.
func (l sightings) get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	for _, s := range slices.Backward(l) {
		if s.is(resource, name) {
			if s.gone {
				return nil
			}
			return s.object
		}
	}
	return nil
}

// list is the objects of a resource that there are now, by name.
func (l sightings) list(resource schema.GroupVersionResource) []*unstructured.Unstructured {
	newest := map[string]*unstructured.Unstructured{}
	for _, s := range l {
		switch {
		case s.resource != resource:
		case s.gone:
			delete(newest, s.object.GetName())
		default:
			newest[s.object.GetName()] = s.object
		}
	}
	var objects []*unstructured.Unstructured
	for _, object := range newest {
		objects = append(objects, object)
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return strings.Compare(a.GetName(), b.GetName()) })
	return objects
}

// uid is that of an object, or empty if there is none now.
func uid(log sightings, resource schema.GroupVersionResource, name string) string {
	if object := log.get(resource, name); object != nil {
		return string(object.GetUID())
	}
	return ""
}

// fingerprints tell for each of the Pods which it is and in which version, so that any write to it shows.
func fingerprints(log sightings, names ...string) map[string]string {
	prints := map[string]string{}
	for _, name := range names {
		prints[name] = "not there"
		if pod := log.get(pods, name); pod != nil {
			prints[name] = fmt.Sprintf("uid %s, resourceVersion %s", pod.GetUID(), pod.GetResourceVersion())
		}
	}
	return prints
}

// timing is something that was seen, and how long after its cause.
type timing struct {
	what string
	took time.Duration
}

// between is never negative: two watches may tell in another order than things happened.
func between(from, to time.Time) time.Duration { return max(0, to.Sub(from)) }

// settlingTime is how long it took from a CatSet with n replicas to n Ready Pods. It is not counted from the request: an
// API server keeps the first object of a new CRD waiting for two seconds.
func settlingTime(log sightings, n int64) time.Duration {
	wanted, _ := log.first(func(s sighting) bool {
		replicas, _, _ := unstructured.NestedInt64(s.object.Object, "spec", "replicas")
		return s.resource == catsets && replicas == n
	})
	told, _ := log.first(func(s sighting) bool { return s.resource == catsets && readyReplicas(s.object) == n })
	return between(wanted.at, told.at)
}

// inOrder holds if every one of the Pods was first seen after the one before it was Ready.
func inOrder(log sightings, names []string) bool {
	for i := 1; i < len(names); i++ {
		ready := slices.IndexFunc(log, func(s sighting) bool { return s.is(pods, names[i-1]) && isReady(s.object) })
		created := slices.IndexFunc(log, func(s sighting) bool { return s.is(pods, names[i]) })
		if ready < 0 || created < ready {
			return false
		}
	}
	return true
}

// awayTime is how long there was no Ready Pod of a name, from when the old one was gone.
func awayTime(log sightings, name, old string) time.Duration {
	gone, _ := log.first(func(s sighting) bool { return s.is(pods, name) && s.gone })
	back, _ := log.first(func(s sighting) bool { return isNew(s, name, old) && isReady(s.object) })
	return between(gone.at, back.at)
}

func isNew(s sighting, name, old string) bool {
	return s.is(pods, name) && !s.gone && string(s.object.GetUID()) != old
}

// editTimes tells how fast an edit of the script took effect on the first Pod.
func editTimes(log sightings, start time.Time, oldRevision, oldPod string) []timing {
	acted, _ := log.first(func(s sighting) bool {
		return s.is(pods, "nginx-0") && (s.gone || s.object.GetDeletionTimestamp() != nil)
	})
	told, _ := log.first(func(s sighting) bool {
		return s.is(composites, controllerName) && scriptRevision(s.object) != oldRevision
	})
	live, _ := log.first(func(s sighting) bool { return isNew(s, "nginx-0", oldPod) && isReady(s.object) })
	return []timing{
		{"the new script acts, and the old nginx-0 is deleted", between(start, acted.at)},
		{fmt.Sprintf("the definition's status.scriptRevision is no longer %s but %s", oldRevision, scriptRevision(told.object)), between(start, told.at)},
		{"the new nginx-0 is Ready, with the label role=leader", between(start, live.at)},
	}
}

// breakTimes tells how fast a broken script was complained of.
func breakTimes(log sightings, start time.Time, position *regexp.Regexp) []timing {
	told, _ := log.first(func(s sighting) bool {
		return s.is(composites, controllerName) && isBroken(s.object, position)
	})
	return []timing{{"condition ScriptsReady is False and names the line", between(start, told.at)}}
}

// mendTimes tells how fast the complaint was taken back.
func mendTimes(log sightings, start time.Time) []timing {
	told, _ := log.first(func(s sighting) bool {
		status := ""
		if s.is(composites, controllerName) {
			status, _ = scripts(s.object)
		}
		return status == "True"
	})
	return []timing{{"condition ScriptsReady is True again", between(start, told.at)}}
}
