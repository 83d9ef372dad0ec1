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

// endedPoll is the interval of checks whether libretto still runs.
const endedPoll = 200 * time.Millisecond

var errLibrettoEnded = errors.New("libretto has ended")

// watch records all changes of the demo's resources with their times.
type watch struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	log     observations
	changed chan struct{} // Closed at the next observation.
}

// startWatch returns after the initial lists.
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

func (w *watch) follow(
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

func (w *watch) observe(resource schema.GroupVersionResource, object any, gone bool) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	known, ok := object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, observation{at: time.Now(), resource: resource, object: known, deleted: gone})
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *watch) stop() { w.cancel() }

// all returns all observations.
func (w *watch) all() observations { return w.since(0) }

// mark returns the present position for since.
func (w *watch) mark() int { return len(w.all()) }

func (w *watch) since(mark int) observations {
	seen, _ := w.snapshot()
	return seen[mark:]
}

// snapshot returns all observations, and a channel that is closed at the next one.
func (w *watch) snapshot() (observations, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clip(w.log), w.changed
}

// await waits until the check passes. It returns the check's last description.
func (w *watch) await(ctx context.Context, c check, ended func() bool) (string, error) {
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

// observation is a watch event with its time.
type observation struct {
	at       time.Time
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	deleted  bool
}

// is reports whether it is of the named object.
func (s observation) is(resource schema.GroupVersionResource, name string) bool {
	return s.resource == resource && s.object.GetName() == name
}

// observations are ordered by time. For a resource that is the order of its changes.
type observations []observation

// first returns the first observation that matches.
func (l observations) first(match func(observation) bool) (observation, bool) {
	i := slices.IndexFunc(l, match)
	if i < 0 {
		return observation{}, false
	}
	return l[i], true
}

// get returns the newest version of an object, or nil if it is deleted.
func (l observations) get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	for _, s := range slices.Backward(l) {
		if s.is(resource, name) {
			if s.deleted {
				return nil
			}
			return s.object
		}
	}
	return nil
}

// list returns the present objects of a resource by name.
func (l observations) list(resource schema.GroupVersionResource) []*unstructured.Unstructured {
	newest := map[string]*unstructured.Unstructured{}
	for _, s := range l {
		switch {
		case s.resource != resource:
		case s.deleted:
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

// uid returns the UID of an object, or "".
func uid(log observations, resource schema.GroupVersionResource, name string) string {
	if object := log.get(resource, name); object != nil {
		return string(object.GetUID())
	}
	return ""
}

// podVersions returns the UID and resourceVersion of Pods by name.
func podVersions(log observations, names ...string) map[string]string {
	prints := map[string]string{}
	for _, name := range names {
		prints[name] = "not there"
		if pod := log.get(pods, name); pod != nil {
			prints[name] = fmt.Sprintf("uid %s, resourceVersion %s", pod.GetUID(), pod.GetResourceVersion())
		}
	}
	return prints
}

// timing is an observation and the time since its cause.
type timing struct {
	what string
	took time.Duration
}

// between is never negative: two watches may report changes in another order.
func between(from, to time.Time) time.Duration { return max(0, to.Sub(from)) }

// settlingTime returns the time from a CatSet with n replicas to n Ready Pods. It does not begin with the request, as an API
// server delays the first object of a new CRD by two seconds.
func settlingTime(log observations, n int64) time.Duration {
	wanted, _ := log.first(func(s observation) bool {
		replicas, _, _ := unstructured.NestedInt64(s.object.Object, "spec", "replicas")
		return s.resource == catsets && replicas == n
	})
	reported, _ := log.first(func(s observation) bool { return s.resource == catsets && readyReplicas(s.object) == n })
	return between(wanted.at, reported.at)
}

// inOrder reports whether each Pod was created after the one before was Ready.
func inOrder(log observations, names []string) bool {
	for i := 1; i < len(names); i++ {
		ready := slices.IndexFunc(log, func(s observation) bool { return s.is(pods, names[i-1]) && isReady(s.object) })
		created := slices.IndexFunc(log, func(s observation) bool { return s.is(pods, names[i]) })
		if ready < 0 || created < ready {
			return false
		}
	}
	return true
}

// downtime returns how long there was no Ready Pod of that name after the old one was deleted.
func downtime(log observations, name, old string) time.Duration {
	gone, _ := log.first(func(s observation) bool { return s.is(pods, name) && s.deleted })
	back, _ := log.first(func(s observation) bool { return isNew(s, name, old) && isReady(s.object) })
	return between(gone.at, back.at)
}

func isNew(s observation, name, old string) bool {
	return s.is(pods, name) && !s.deleted && string(s.object.GetUID()) != old
}

// editTimes returns how soon an edit of the script took effect on the first Pod.
func editTimes(log observations, start time.Time, oldRevision, oldPod string) []timing {
	deleted, _ := log.first(func(s observation) bool {
		return s.is(pods, "nginx-0") && (s.deleted || s.object.GetDeletionTimestamp() != nil)
	})
	reported, _ := log.first(func(s observation) bool {
		return s.is(composites, controllerName) && scriptRevision(s.object) != oldRevision
	})
	ready, _ := log.first(func(s observation) bool { return isNew(s, "nginx-0", oldPod) && isReady(s.object) })
	revision := fmt.Sprintf("the definition's status.scriptRevision is no longer %s but %s", oldRevision, scriptRevision(reported.object))
	return []timing{
		{"the new script acts, and the old nginx-0 is deleted", between(start, deleted.at)},
		{revision, between(start, reported.at)},
		{"the new nginx-0 is Ready, with the label role=leader", between(start, ready.at)},
	}
}

// breakTimes returns how soon the condition named the error in a broken script.
func breakTimes(log observations, start time.Time, position *regexp.Regexp) []timing {
	at := definitionAt(log, func(definition *unstructured.Unstructured) bool { return isBroken(definition, position) })
	return []timing{{"condition ScriptsReady is False and names the line", between(start, at)}}
}

// repairTimes returns how soon the condition was True again.
func repairTimes(log observations, start time.Time) []timing {
	at := definitionAt(log, func(definition *unstructured.Unstructured) bool {
		status, _ := scripts(definition)
		return status == "True"
	})
	return []timing{{"condition ScriptsReady is True again", between(start, at)}}
}

// definitionAt returns when the definition was first observed to match.
func definitionAt(log observations, match func(*unstructured.Unstructured) bool) time.Time {
	found, _ := log.first(func(s observation) bool { return s.is(composites, controllerName) && match(s.object) })
	return found.at
}
