package parent

import (
	"sync"

	"github.com/libretto-k8s/libretto/apply"
)

// futile remembers updates that left a child as it was, because the API server
// drops or rewrites all that was to change, so that they are not sent again as
// long as the child and what is wanted of it stay the same.
type futile struct {
	mu      sync.Mutex
	updates map[apply.Key]apply.Change
}

func newFutile() *futile { return &futile{updates: map[apply.Key]apply.Change{}} }

// is says whether a change is known to have no effect.
func (f *futile) is(change apply.Change) bool {
	if change.Action != apply.ActionUpdate {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	earlier, ok := f.updates[change.Key]
	return ok && earlier.Object.GetUID() == change.Object.GetUID() && change.Repeats(earlier)
}

// forget drops what is known of a child that is gone.
func (f *futile) forget(key apply.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.updates, key)
}

// note remembers an outcome; whatever had an effect is forgotten.
func (f *futile) note(outcome apply.Outcome) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if outcome.NoEffect() {
		f.updates[outcome.Change.Key] = outcome.Change
	} else {
		delete(f.updates, outcome.Change.Key)
	}
}
