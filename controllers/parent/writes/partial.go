package writes

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
)

const (
	// ContentWait is how long the passes over a parent wait for the events that show what it has written, before the objects
	// are read from the API server.
	ContentWait = time.Second
	// maxContentWait is how long they wait while events of the same kind come: the watch is late then, but not dead, and reading each
	// object would add to the load that makes it late.
	maxContentWait = 5 * time.Second
)

// NotePartial records a write that was answered by the metadata of the object alone. The passes over the owner wait until
// its content is known.
func (p *Pending) NotePartial(owner types.UID, result apply.Result) {
	created := result.Change.Observed == nil
	if !hasRest(result.Change) { // What was sent need not be kept.
		result.Change = apply.Change{Action: result.Change.Action, Key: result.Change.Key, Resource: result.Change.Resource}
	}
	p.note(write{object: result.Object, partial: &result, owner: owner}, created)
}

// hasRest reports whether the object tells more about a write than that it was done: what the API server did not keep of it.
func hasRest(change apply.Change) bool {
	return change.Action == apply.ActionUpdate || change.ServerSide != nil
}

// completedBy returns the outcome of a partial write with the object in full, and whether that tells more. Object must be the
// version that was written: a newer one does not show the result of the write.
func (w write) completedBy(object *unstructured.Unstructured) (apply.Result, bool) {
	if w.partial == nil || !hasRest(w.partial.Change) || w.object.GetResourceVersion() != object.GetResourceVersion() {
		return apply.Result{}, false
	}
	return w.partial.WithContent(object), true
}

// AwaitsContent reports whether the content of anything that was written for owner is unknown.
func (p *Pending) AwaitsContent(owner types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.partial[owner]) > 0
}

// ContentDelay returns how long passes over owner may still wait for events, or zero if nothing is unknown. If the time is
// over, it returns the writes to be read from the API server.
func (p *Pending) ContentDelay(owner types.UID) (delay time.Duration, overdue []apply.Result) {
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

// contentDelayOf is ContentDelay for one object. The lock must be held.
func (p *Pending) contentDelayOf(key apply.Key) time.Duration {
	written := p.writes[key].at
	last := written
	if moved := p.moved[key.Kind]; moved.After(written) {
		last = moved
	}
	return min(ContentWait-p.clock.Since(last), maxContentWait-p.clock.Since(written))
}

// SetContent records the live state of an object whose content was unknown, or that it is gone if live is nil or another object.
// fields are as in SetFields.
func (p *Pending) SetContent(written apply.Result, live *unstructured.Unstructured, fields []any) {
	if completed, ok := p.replacePartial(written, live, fields); ok {
		p.Completed(completed)
	}
}

func (p *Pending) replacePartial(written apply.Result, live *unstructured.Unstructured, fields []any) (apply.Result, bool) {
	key := written.Change.Key
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.writes[key]
	switch {
	case w.partial == nil || w.object != written.Object:
		return apply.Result{}, false // An event came meanwhile.
	case live == nil || live.GetUID() != w.object.GetUID():
		p.drop(key)
		return apply.Result{}, false
	}
	completed, ok := w.completedBy(live)
	dropFrom(p.partial, w.owner, key)
	w.object, w.fields, w.partial, w.at = live, fields, nil, p.clock.Now()
	p.writes[key] = w
	return completed, ok
}
