package parent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

const (
	// contentWait is how long the passes over a parent wait for the events that show what it has written, before the objects
	// are read from the API server.
	contentWait = time.Second
	// maxContentWait is how long they wait while events of the same kind come: the watch is late then, but not dead, and reading each
	// object would add to the load that makes it late.
	maxContentWait = 5 * time.Second
)

// notePartial records a write that was answered by the metadata of the object alone. The passes over the owner wait until
// its content is known.
func (p *pendingWrites) notePartial(owner types.UID, outcome apply.Outcome) {
	created := outcome.Change.Observed == nil
	if !hasRest(outcome.Change) { // What was sent need not be kept.
		outcome.Change = apply.Change{Action: outcome.Change.Action, Key: outcome.Change.Key, Resource: outcome.Change.Resource}
	}
	p.note(pendingWrite{object: outcome.Object, partial: &outcome, owner: owner}, created)
}

// hasRest reports whether the object tells more about a write than that it was done: what the API server did not keep of it.
func hasRest(change apply.Change) bool {
	return change.Action == apply.ActionUpdate || change.ServerSide != nil
}

// completedBy returns the outcome of a partial write with the object in full, and whether that tells more. Object must be the
// version that was written: what became of a write can't be told from a newer one.
func (w pendingWrite) completedBy(object *unstructured.Unstructured) (apply.Outcome, bool) {
	if w.partial == nil || !hasRest(w.partial.Change) || w.object.GetResourceVersion() != object.GetResourceVersion() {
		return apply.Outcome{}, false
	}
	return w.partial.WithContent(object), true
}

// awaitsContent reports whether the content of anything that was written for owner is unknown.
func (p *pendingWrites) awaitsContent(owner types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.partial[owner]) > 0
}

// contentDelay returns how long passes over owner may still wait for events, or zero if nothing is unknown. If the time is
// over, it returns the writes to be read from the API server.
func (p *pendingWrites) contentDelay(owner types.UID) (delay time.Duration, overdue []apply.Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.partial[owner] {
		delay = max(delay, p.contentDelayOf(key))
	}
	if delay > 0 {
		return delay, nil
	}
	for key := range p.partial[owner] {
		overdue = append(overdue, *p.writes[key].partial)
	}
	return 0, overdue
}

// contentDelayOf is contentDelay for one object. The lock must be held.
func (p *pendingWrites) contentDelayOf(key apply.Key) time.Duration {
	written := p.writes[key].at
	last := written
	if moved := p.moved[key.Kind]; moved.After(written) {
		last = moved
	}
	return min(contentWait-p.clock.Since(last), maxContentWait-p.clock.Since(written))
}

// setContent records the live state of an object whose content was unknown, or that it is gone if live is nil or another object.
// fields are as in setFields.
func (p *pendingWrites) setContent(written apply.Outcome, live *unstructured.Unstructured, fields []any) {
	if completed, ok := p.replacePartial(written, live, fields); ok {
		p.completed(completed)
	}
}

func (p *pendingWrites) replacePartial(written apply.Outcome, live *unstructured.Unstructured, fields []any) (apply.Outcome, bool) {
	key := written.Change.Key
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.writes[key]
	switch {
	case w.partial == nil || w.object != written.Object:
		return apply.Outcome{}, false // An event came meanwhile.
	case live == nil || live.GetUID() != w.object.GetUID():
		p.drop(key)
		return apply.Outcome{}, false
	}
	completed, ok := w.completedBy(live)
	dropFrom(p.partial, w.owner, key)
	w.object, w.fields, w.partial, w.at = live, fields, nil, p.clock.Now()
	p.writes[key] = w
	return completed, ok
}

// syncContents makes sure that the content of everything that was written for a parent is known. If it returns a delay, events
// are still awaited, and no pass should begin before it ends. After that it reads the objects from the API server, so that a
// late or broken watch delays but does not block.
func (r *shared) syncContents(ctx context.Context, parent *unstructured.Unstructured) (time.Duration, error) {
	delay, overdue := r.pendingWrites.contentDelay(parent.GetUID())
	if len(overdue) == 0 {
		return delay, nil
	}
	var group errgroup.Group
	group.SetLimit(max(r.env.Writes, 1))
	var mu sync.Mutex
	var errs []error
	for _, written := range overdue {
		group.Go(func() error {
			if err := r.readContent(ctx, written); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = group.Wait() // Each error is in errs.
	return 0, failure.Join(errs)
}

// readContent reads an object whose content is unknown from the API server.
func (r *shared) readContent(ctx context.Context, written apply.Outcome) error {
	key := written.Change.Key
	live, err := r.get(ctx, written.Change.Resource, key.Namespace, key.Name)
	switch {
	case apierrors.IsNotFound(err):
		r.pendingWrites.setContent(written, nil, nil)
		return nil
	case err != nil:
		return fmt.Errorf("%s was written, and no event has shown it: reading it: %w", key, err)
	}
	fields := r.env.Pool.AppliedFields(live)
	live.SetManagedFields(nil)
	r.pendingWrites.setContent(written, live, fields)
	return nil
}

// noteWrite records the object that a write has returned until the caches show it.
func (p *pass) noteWrite(outcome apply.Outcome) {
	owner := p.parent.GetUID()
	if outcome.Partial {
		p.wrotePartial = true
		p.pendingWrites.notePartial(owner, outcome)
		if cached := p.cachedChild(outcome.Object); cached != nil { // Its event may have come before the answer.
			p.pendingWrites.observe(informer.Event{New: cached})
		}
		return
	}
	fields := p.env.Pool.AppliedFields(outcome.Object)
	object := outcome.Object
	object.SetManagedFields(nil)
	p.pendingWrites.noteWritten(owner, object, outcome.Change.Observed == nil)
	p.pendingWrites.setFields(object, fields)
}

// awaitContents returns result with a requeue for when no events show what the pass has written. The events that did while it
// ran may not have enqueued the parent.
func (p *pass) awaitContents(result controller.Result) controller.Result {
	if p.wrotePartial {
		delay, _ := p.pendingWrites.contentDelay(p.parent.GetUID())
		result.RequeueAfter = variant.Earlier(result.RequeueAfter, max(delay, debounce))
	}
	return result
}

// cachedChild returns what the cache shows of a child, or nil.
func (r *shared) cachedChild(child *unstructured.Unstructured) *unstructured.Unstructured {
	for i := range r.children {
		if r.children[i].Kind == child.GroupVersionKind() {
			return r.children[i].cache.Get(child.GetNamespace(), child.GetName())
		}
	}
	return nil
}
