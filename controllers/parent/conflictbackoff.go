package parent

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

const (
	// askAgainAtFirst is how long a child is left alone when other field managers hold
	// what is not to be taken from them. It doubles each time, up to askAgainAtMost.
	askAgainAtFirst = 5 * time.Second
	askAgainAtMost  = 5 * time.Minute
)

// standoffs are the children that can't be applied because other field managers hold
// fields of theirs. The API server tells nobody when one of them gives in, so that it is
// asked again now and then, and at once when something else is wanted.
type conflictBackoff struct {
	clock    clock.PassiveClock
	mu       sync.Mutex
	children map[apply.Key]fieldConflict
}

type fieldConflict struct {
	change apply.Change
	err    error
	wait   time.Duration
	until  time.Time
}

func newConflictBackoff(clock clock.PassiveClock) *conflictBackoff {
	return &conflictBackoff{clock: clock, children: map[apply.Key]fieldConflict{}}
}

// lasting gives why a change is not worth asking for yet, or nil.
func (s *conflictBackoff) lasting(change apply.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, ok := s.children[change.Key]
	if !ok || !s.clock.Now().Before(last.until) || change.Action != apply.ActionUpdate || !change.Repeats(last.change) {
		return nil
	}
	return last.err
}

// note remembers an outcome; whatever else came of it ends the standoff.
func (s *conflictBackoff) note(outcome apply.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := outcome.Change.Key
	if apply.Classify(outcome.Err) != apply.FailureFieldConflict {
		delete(s.children, key)
		return
	}
	wait := min(max(askAgainAtFirst, 2*s.children[key].wait), askAgainAtMost)
	s.children[key] = fieldConflict{change: outcome.Change, err: fieldConflictError(outcome), wait: wait, until: s.clock.Now().Add(wait)}
}

// forget drops what is known of a child that is gone.
func (s *conflictBackoff) forget(key apply.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.children, key)
}

// contested says who holds what, and what can be done.
func fieldConflictError(outcome apply.Outcome) error {
	var held []string
	for _, c := range apply.FieldManagerConflicts(outcome.Err) {
		held = append(held, fmt.Sprintf("%s holds %s", c.Manager, c.Field))
	}
	return &failure{reason: "FieldConflict", retry: controller.FieldConflict, err: fmt.Errorf("%s is left as it is: %s: let go of the fields there, leave them out in the hook, or set forceConflicts: true", outcome.Change.Key, strings.Join(held, ", "))}
}
