package parent

import (
	"sync"

	"github.com/libretto-k8s/libretto/apply"
)

// futile remembers updates that left a child as it was, because the API server
// drops or rewrites all that was to change, and what it dropped of others, so that
// this is not sent again as long as the child, what is wanted of it and the schema stay the same.
type noopUpdates struct {
	mu      sync.Mutex
	updates map[apply.Key]apply.Change
}

func newNoopUpdates() *noopUpdates { return &noopUpdates{updates: map[apply.Key]apply.Change{}} }

// is says whether a change is known to have no effect.
func (f *noopUpdates) contains(change apply.Change) bool {
	if change.Action != apply.ActionUpdate {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	earlier, ok := f.updates[change.Key]
	return ok && earlier.Schema == change.Schema && earlier.Object.GetUID() == change.Object.GetUID() && change.Repeats(earlier)
}

// forget drops what is known of a child that is gone.
func (f *noopUpdates) forget(key apply.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.updates, key)
}

// note remembers an outcome, or what of it had no effect.
func (f *noopUpdates) note(outcome apply.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	again, ok := outcome.Again()
	switch {
	case outcome.NoEffect():
		f.updates[outcome.Change.Key] = outcome.Change
	case ok:
		f.updates[outcome.Change.Key] = again
	default:
		delete(f.updates, outcome.Change.Key)
	}
}
