package parent

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// SyncResult is what came of the last sync of a parent, for a rollout of scripts.
type SyncResult string

// Results of syncs. None is one that there is none of yet.
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

// lastSyncs holds how parents were synced last, for definitions whose scripts are rolled out. Kept in memory: the first passes after a
// start learn it again.
type lastSyncs struct {
	noted    atomic.Bool
	mu       sync.Mutex
	busyAt   time.Time // When a sync last ended because the host had no script worker.
	byParent map[types.UID]LastSync
	byKey    map[controller.Key]types.UID
}

func newLastSyncs() *lastSyncs {
	return &lastSyncs{byParent: map[types.UID]LastSync{}, byKey: map[controller.Key]types.UID{}}
}

func (l *lastSyncs) of(uid types.UID) LastSync {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byParent[uid]
}

// set notes how a parent was synced, and reports whether that is news.
func (l *lastSyncs) set(key controller.Key, uid types.UID, now LastSync) (changed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.byParent[uid]
	if old, known := l.byKey[key]; known && old != uid {
		delete(l.byParent, old)
	}
	l.byParent[uid], l.byKey[key] = now, uid
	return before != now
}

func (l *lastSyncs) setBusy(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busyAt = now
}

func (l *lastSyncs) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.byParent)
	clear(l.byKey)
}

func (l *lastSyncs) forget(key controller.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byParent, l.byKey[key])
	delete(l.byKey, key)
}

// NoteSyncs sets whether it is kept how each parent was synced last, which a rollout of scripts goes by.
func (r *Reconciler) NoteSyncs(noted bool) {
	if r.lastSyncs.noted.Swap(noted) && !noted {
		r.lastSyncs.clear()
	}
}

// BusyAt returns when a sync of a parent last ended because the host had no script worker, or zero.
func (r *Reconciler) BusyAt() time.Time {
	r.lastSyncs.mu.Lock()
	defer r.lastSyncs.mu.Unlock()
	return r.lastSyncs.busyAt
}

// noteSync notes how a pass ended, if the scripts are rolled out. One for which the host had no worker says nothing of the parent.
func (p *pass) noteSync(retry controller.Retry, err error) {
	if !p.lastSyncs.noted.Load() {
		return
	}
	if failure.IsBusy(err) {
		p.lastSyncs.setBusy(p.env.Clock.Now())
		return
	}
	now := LastSync{Spec: p.config.Spec, Revision: p.programs.Revision, Result: ResultSettled}
	switch {
	case err != nil && failsForGood(retry, err):
		now.Result, now.Message = ResultFailed, engines.Truncate(printable.Line(err.Error()), maxSyncMessage)
	case err != nil:
		now.Result, now.Message = ResultMoving, failure.ShortLine(err.Error())
	case p.wroteChildren:
		now.Result, now.Message = ResultMoving, "its children have just been written"
	default:
		if now.rolling = p.rolling; p.idle {
			now.rolling = p.lastSyncs.of(p.parent.GetUID()).rolling
		}
		now.Result, now.Message = p.childrenState(now.rolling)
	}
	if p.lastSyncs.set(p.key, p.parent.GetUID(), now) {
		p.config.Changed()
	}
}

// maxSyncMessage is how much is kept of the message of a sync that failed.
const maxSyncMessage = 512

// failsForGood reports whether a failure is that of the scripts or of what they want, and nothing that passes by itself. A host that is
// busy and an API server that does not answer say nothing about scripts.
func failsForGood(retry controller.Retry, err error) bool {
	switch retry {
	case controller.Conflict, controller.Waiting, controller.Unavailable:
		return false
	default:
		return !errors.Is(err, controller.ErrLater)
	}
}

// childrenState returns how the children are that the pass has left as they were.
func (p *pass) childrenState(rolling string) (SyncResult, string) {
	if rolling != "" {
		return ResultUnready, rolling
	}
	if waits := p.waits.of(p.key); len(waits) > 0 {
		return ResultUnready, failure.ShortLine(waits[0].String())
	}
	for _, child := range p.observed.Children {
		if status := readiness.Of(child); status.State != readiness.Ready {
			return ResultUnready, fmt.Sprintf("%s %s is not ready: %s", child.GetKind(), child.GetName(), status.Reason)
		}
	}
	return ResultSettled, ""
}

// EachParent calls do for each parent, with how it was synced last.
func (r *Reconciler) EachParent(do func(parent *unstructured.Unstructured, last LastSync)) {
	r.eachParent(func(_ *parentSource, parent *unstructured.Unstructured) {
		do(parent, r.lastSyncs.of(parent.GetUID()))
	})
}
