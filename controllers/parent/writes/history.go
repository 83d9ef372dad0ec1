package writes

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

const (
	// minConflictBackoff is the first delay before a write is retried that conflicts with
	// other field managers. It doubles each time, up to maxConflictBackoff.
	minConflictBackoff = 5 * time.Second
	maxConflictBackoff = 5 * time.Minute
)

// History remembers by child what earlier writes showed: comparisons of observed and
// desired state, updates without effect, and conflicts with other field managers.
type History struct {
	Comparisons *apply.Memory // has a lock of its own
	clock       clock.PassiveClock
	mu          sync.Mutex
	// noops are the updates that left a child unchanged, because the API server drops or
	// rewrites all that was to change, and the dropped part of other updates. They are not
	// sent again while the child, its desired state and the schema stay the same.
	noops map[apply.Key]apply.Digest
	// conflicts are the changes that other field managers keep from being applied. No event
	// reports that a manager has given up its fields, so the write is retried with backoff,
	// and at once if the desired state changes.
	conflicts map[apply.Key]fieldConflict
}

type fieldConflict struct {
	digest  apply.Digest
	err     error
	backoff time.Duration
	until   time.Time
}

// NewHistory returns an empty history.
func NewHistory(clock clock.PassiveClock) *History {
	return &History{
		Comparisons: apply.NewMemory(), clock: clock,
		noops: map[apply.Key]apply.Digest{}, conflicts: map[apply.Key]fieldConflict{},
	}
}

// IsNoop reports whether a change is known to have no effect.
func (h *History) IsNoop(change apply.Change) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.noops[change.Key]
	return ok && change.Action == apply.ActionUpdate && change.Digest() == last
}

// Conflict returns the error of the last conflict if the change repeats it and is still in
// backoff, or nil.
func (h *History) Conflict(change apply.Change) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	last, ok := h.conflicts[change.Key]
	if !ok || !h.clock.Now().Before(last.until) || change.Action != apply.ActionUpdate || change.Digest() != last.digest {
		return nil
	}
	return last.err
}

// Note remembers the outcome of a write. It replaces what was known of the child.
func (h *History) Note(result apply.Result) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key := result.Change.Key
	again, ok := result.Again()
	switch {
	case result.NoEffect():
		h.noops[key] = result.Change.Digest()
	case ok:
		h.noops[key] = again.Digest()
	default:
		delete(h.noops, key)
	}
	if apply.Classify(result.Err) != apply.FailureFieldConflict {
		delete(h.conflicts, key)
		return
	}
	backoff := min(max(minConflictBackoff, 2*h.conflicts[key].backoff), maxConflictBackoff)
	h.conflicts[key] = fieldConflict{
		digest: result.Change.Digest(), err: FieldConflictError(result), backoff: backoff, until: h.clock.Now().Add(backoff),
	}
}

// Forget drops the history of a deleted child.
func (h *History) Forget(key apply.Key) {
	h.Comparisons.Forget(key)
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.noops, key)
	delete(h.conflicts, key)
}

// FieldConflictError names the managers, their fields and the remedies.
func FieldConflictError(result apply.Result) error {
	var held []string
	for _, c := range apply.FieldManagerConflicts(result.Err) {
		held = append(held, fmt.Sprintf("%s holds %s", c.Manager, fielddiff.PublicPath(result.Change.Key.Kind, c.Field)))
	}
	held = slices.Compact(held)
	return &failure.Error{Reason: variant.ReasonFieldConflict, Retry: controller.FieldConflict, Err: fmt.Errorf(
		"%s is left as it is: %s: let go of the fields there, leave them out in the hook, or set forceConflicts: true",
		result.Change.Key, strings.Join(held, ", "))}
}
