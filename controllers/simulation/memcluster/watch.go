package memcluster

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Watched waits until a number of resources are watched. It returns for each the version of the last
// change that its watchers are sent, or 0 if there has been none since the watch began.
func (c *Cluster) Watched(ctx context.Context, number int) (map[schema.GroupVersionResource]int64, error) {
	for {
		watched, joined := c.watched()
		if len(watched) >= number {
			return watched, nil
		}
		select {
		case <-joined:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *Cluster) watched() (watched map[schema.GroupVersionResource]int64, joined <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	watched = map[schema.GroupVersionResource]int64{}
	for gvr, t := range c.tables {
		for w := range t.watchers {
			watched[gvr] = max(watched[gvr], w.last())
		}
	}
	return watched, c.watchStarted
}

// watcher sends the events of a table to one client.
type watcher struct {
	*client
	table   *table
	matches func(*unstructured.Unstructured) bool
	begin   int64 // The version from which the watch began.
	after   int64 // The version of the last change that was looked at.
	results chan watch.Event
	pending chan struct{}
	stopped chan struct{}
	once    sync.Once
}

// Watch begins after the version of a list. Selectors are applied to the object of each event.
func (e *endpoint) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	matches, err := e.matcher(options)
	if err != nil {
		return nil, err
	}
	after, err := strconv.ParseInt("0"+options.ResourceVersion, 10, 64)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	t, err := e.table()
	if err != nil {
		return nil, err
	}
	w := &watcher{
		client: e.client, table: t, matches: matches, begin: after, after: after,
		results: make(chan watch.Event), pending: make(chan struct{}, 1), stopped: make(chan struct{}),
	}
	t.watchers[w] = true
	close(e.cluster.watchStarted)
	e.cluster.watchStarted = make(chan struct{})
	go w.run(ctx)
	return w, nil
}

// ResultChan returns the events. It is closed when the watch ends.
func (w *watcher) ResultChan() <-chan watch.Event { return w.results }

// Stop ends the watch. It may be called more than once.
func (w *watcher) Stop() {
	w.unregister()
	w.once.Do(func() { close(w.stopped) })
}

// notify makes the watcher look for new events.
func (w *watcher) notify() {
	select {
	case w.pending <- struct{}{}:
	default:
	}
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.results)
	defer w.unregister()
	for {
		for _, event := range w.nextEvents() {
			select {
			case w.results <- event:
			case <-ctx.Done():
				return
			case <-w.stopped:
				return
			}
		}
		select {
		case <-w.pending:
		case <-ctx.Done():
			return
		case <-w.stopped:
			return
		}
	}
}

// nextEvents returns the events since the last call.
func (w *watcher) nextEvents() []watch.Event {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	var events []watch.Event
	next, _ := slices.BinarySearchFunc(w.table.log, w.after+1, func(c change, version int64) int { return cmp.Compare(c.version, version) })
	for _, change := range w.table.log[next:] {
		if w.table.isHeld(change) {
			break
		}
		w.after = change.version
		if object, ok := change.event.Object.(*unstructured.Unstructured); ok && w.matches(object) {
			events = append(events, watch.Event{Type: change.event.Type, Object: w.out(object)})
		}
	}
	return events
}

// last returns the version of the last change that the watcher sends, or 0. The lock is held.
func (w *watcher) last() int64 {
	for _, change := range slices.Backward(w.table.log) {
		if change.version <= w.begin {
			break
		}
		if w.table.isHeld(change) {
			continue
		}
		if object, ok := change.event.Object.(*unstructured.Unstructured); ok && w.matches(object) {
			return change.version
		}
	}
	return 0
}

func (w *watcher) unregister() {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	delete(w.table.watchers, w)
}
