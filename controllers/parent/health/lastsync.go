package health

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// SyncResult is how the last sync of a parent ended, for a rollout of scripts.
type SyncResult string

// Results of syncs. A parent that was not synced yet has none.
const (
	ResultNone    SyncResult = ""
	ResultSettled SyncResult = "settled" // It wrote no child, and all children are ready.
	ResultMoving  SyncResult = "moving"  // Children were written, or the sync failed with what may pass.
	ResultUnready SyncResult = "unready" // A child is not ready, or a rolling update of children is not done.
	ResultFailed  SyncResult = "failed"
)

// LastSync is how a parent was synced last.
type LastSync struct {
	// Spec is that of the Config, and Revision that of the programs.
	Spec, Revision string
	Result         SyncResult
	// Message is why it is not settled.
	Message string
	rolling string // why a rolling update of its children is not done
}

// Sync is a pass that has ended, as far as a rollout of scripts depends on it.
type Sync struct {
	Spec, Revision string
	Retry          controller.Retry
	Err            error
	WroteChildren  bool
	// Rolling is why a rolling update of the children is not done, or empty. A pass that found all Unchanged does not know it.
	Rolling   string
	Unchanged bool
	Children  []*unstructured.Unstructured
	Waits     []variant.Wait
}

// LastSyncs holds how parents were synced last, for definitions whose scripts are rolled out. Kept in memory: the first passes after a
// start learn it again.
type LastSyncs struct {
	clock    clock.PassiveClock
	kept     atomic.Bool
	mu       sync.Mutex
	busyAt   time.Time // When a sync last ended because the host had no script worker.
	byParent map[types.UID]LastSync
	byKey    map[controller.Key]types.UID
}

// NewLastSyncs returns an empty record, which keeps nothing before Keep.
func NewLastSyncs(clock clock.PassiveClock) *LastSyncs {
	return &LastSyncs{clock: clock, byParent: map[types.UID]LastSync{}, byKey: map[controller.Key]types.UID{}}
}

// SetEnabled sets whether it is kept how each parent was synced last.
func (l *LastSyncs) SetEnabled(kept bool) {
	if l.kept.Swap(kept) && !kept {
		l.clear()
	}
}

// Of returns how a parent was synced last, if that is kept.
func (l *LastSyncs) Of(uid types.UID) LastSync {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byParent[uid]
}

// BusyAt returns when a sync of a parent last ended because the host had no script worker, or zero.
func (l *LastSyncs) BusyAt() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.busyAt
}

// Note records how a pass ended, if that is kept, and reports whether it is news. One for which the host had no worker says nothing of the
// parent.
func (l *LastSyncs) Note(key controller.Key, uid types.UID, s Sync) (changed bool) {
	if !l.kept.Load() {
		return false
	}
	if failure.IsBusy(s.Err) {
		l.setBusy(l.clock.Now())
		return false
	}
	if s.Unchanged {
		s.Rolling = l.Of(uid).rolling
	}
	now := LastSync{Spec: s.Spec, Revision: s.Revision}
	if now.Result, now.Message = s.Outcome(); s.Err == nil && !s.WroteChildren {
		now.rolling = s.Rolling
	}
	return l.set(key, uid, now)
}

// Outcome returns how a pass has ended, and why the parent is not settled.
func (s Sync) Outcome() (result SyncResult, message string) {
	switch {
	case s.Err != nil && isTerminal(s.Retry, s.Err):
		return ResultFailed, engines.Truncate(printable.Line(s.Err.Error()), maxSyncMessage)
	case s.Err != nil:
		return ResultMoving, failure.ShortLine(s.Err.Error())
	case s.WroteChildren:
		return ResultMoving, "its children have just been written"
	default:
		return s.childrenState()
	}
}

// set replaces how a parent was synced, and reports whether that is news.
func (l *LastSyncs) set(key controller.Key, uid types.UID, now LastSync) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.byParent[uid]
	if old, known := l.byKey[key]; known && old != uid {
		delete(l.byParent, old)
	}
	l.byParent[uid], l.byKey[key] = now, uid
	return before != now
}

func (l *LastSyncs) setBusy(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busyAt = now
}

func (l *LastSyncs) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.byParent)
	clear(l.byKey)
}

// Forget drops a parent.
func (l *LastSyncs) Forget(key controller.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byParent, l.byKey[key])
	delete(l.byKey, key)
}

// maxSyncMessage is how much is kept of the message of a sync that failed.
const maxSyncMessage = 512

// isTerminal reports whether a failure is that of the scripts or of what they want, and nothing that passes by itself. A host that is
// busy and an API server that does not answer say nothing about scripts.
func isTerminal(retry controller.Retry, err error) bool {
	switch retry {
	case controller.Conflict, controller.Waiting, controller.Unavailable:
		return false
	default:
		return !errors.Is(err, controller.ErrLater)
	}
}

// childrenState returns how the children are that the pass has left as they were.
func (s Sync) childrenState() (SyncResult, string) {
	if s.Rolling != "" {
		return ResultUnready, s.Rolling
	}
	if len(s.Waits) > 0 {
		return ResultUnready, failure.ShortLine(s.Waits[0].String())
	}
	for _, child := range s.Children {
		if status := readiness.Of(child); status.State != readiness.Ready {
			return ResultUnready, fmt.Sprintf("%s %s is not ready: %s", child.GetKind(), child.GetName(), status.Reason)
		}
	}
	return ResultSettled, ""
}
