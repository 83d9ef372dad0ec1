package memcluster

import (
	"cmp"
	"context"
	"fmt"
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
	if after < t.forgotten && options.ResourceVersion != "" {
		return nil, expired(after)
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
	w.end()
}

func (w *watcher) end() { w.once.Do(func() { close(w.stopped) }) }

func expired(version int64) *apierrors.StatusError {
	return apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d", version))
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
		events, isExpired := w.nextEvents()
		for _, event := range events {
			select {
			case w.results <- event:
			case <-ctx.Done():
				return
			case <-w.stopped:
				return
			}
		}
		if isExpired {
			return
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

// nextEvents returns the events since the last call, or the error that the history does not have them any more.
func (w *watcher) nextEvents() (events []watch.Event, isExpired bool) {
	w.cluster.mu.Lock()
	defer w.cluster.mu.Unlock()
	if w.after < w.table.forgotten {
		status := expired(w.after).Status()
		return []watch.Event{{Type: watch.Error, Object: &status}}, true
	}
	next, _ := slices.BinarySearchFunc(w.table.log, w.after+1, func(c change, version int64) int { return cmp.Compare(c.version, version) })
	for _, change := range w.table.log[next:] {
		if w.table.isHeld(change) {
			break
		}
		w.after = change.version
		if event, sent := w.eventOf(change); sent {
			events = append(events, event)
		}
	}
	return events, false
}

// eventOf returns a change as the watcher sends it, if it does. To it an object that begins to match is added, and one that ceases to is
// deleted.
func (w *watcher) eventOf(change change) (event watch.Event, sent bool) {
	object, _ := change.event.Object.(*unstructured.Unstructured)
	matches, matched := w.matches(object), change.before != nil && w.matches(change.before)
	event = change.event
	switch {
	case event.Type == watch.Modified && matches && !matched:
		event.Type = watch.Added
	case event.Type != watch.Added && matched && !matches:
		event.Type = watch.Deleted
	case !matches:
		return event, false
	}
	event.Object = w.out(object)
	return event, true
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
		if _, sent := w.eventOf(change); sent {
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
