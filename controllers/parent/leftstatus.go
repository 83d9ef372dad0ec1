package parent

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// DefaultStatusDelay is how long a host leaves a status to later passes: see Environment.StatusDelay.
const DefaultStatusDelay = time.Second

// leftStatuses holds the statuses that passes have left to the next pass over the same parent, which is certain to come, as
// children were written. Kept in memory: a new process makes a pass over each parent, and so writes its status.
type leftStatuses struct {
	mu       sync.Mutex
	byParent map[controller.Key]leftStatus
}

// leftStatus is the status that the last pass wanted. It is written only if the next one fails before it has another.
type leftStatus struct {
	uid   types.UID
	since time.Time // when the status was first left
	// status and origin are those of variant.Desired, and base is the observed status if the former is made of it.
	status, base map[string]any
	origin       variant.StatusOrigin
}

func newLeftStatuses() *leftStatuses { return &leftStatuses{byParent: map[controller.Key]leftStatus{}} }

// leave records a status. It returns since when the parent's status was left, which is now unless an earlier pass has.
func (l *leftStatuses) leave(key controller.Key, status leftStatus) (since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.byParent[key]; ok && before.uid == status.uid {
		status.since = before.since
	}
	l.byParent[key] = status
	return status.since
}

// of returns the status that was left for a parent, and whether there is one.
func (l *leftStatuses) of(key controller.Key, uid types.UID) (leftStatus, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	status, ok := l.byParent[key]
	return status, ok && status.uid == uid
}

func (l *leftStatuses) forget(key controller.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byParent, key)
}

// leaveStatus reports whether the status is left to the next pass, and has that made in time. That pass is made anyway, as
// children were written, and no hook can tell, as none reads the parent's status.
func (p *pass) leaveStatus(desired variant.Desired, applied bool) bool {
	if p.env.StatusDelay <= 0 || !applied || !p.awaitsEvents || p.read&(answers.ReadStatus|answers.ReadVersion) != 0 ||
		p.isTerminating() || len(desired.Problems) > 0 || len(desired.Waits()) > 0 {
		return false
	}
	now := p.env.Clock.Now()
	left := leftStatus{uid: p.parent.GetUID(), since: now, status: desired.Status, origin: desired.StatusOrigin}
	if left.origin == variant.StatusMerged {
		left.base = statusOf(p.observed.Parent)
	}
	p.statusDue = p.leftStatuses.leave(p.key, left).Add(p.env.StatusDelay)
	return now.Before(p.statusDue)
}

// sawOldStatus reports whether the hooks may have read the parent's status while that of their last answer was left to this pass. It may
// be their memory, also if the call that set it has not read it.
func (p *pass) sawOldStatus() bool {
	_, left := p.leftStatuses.of(p.key, p.parent.GetUID())
	return left && p.read&(answers.ReadStatus|answers.ReadVersion) != 0
}

// callAgain ends a pass whose hooks have answered, or failed with err, with an old status in view. It writes the one that was left, and
// has the hooks called again. A status that can't be written is left no longer, so that it does not hold up the children.
func (p *pass) callAgain(ctx context.Context, err error) (controller.Result, error) {
	if failed := p.writeLeftStatus(ctx, nil); failed != nil {
		if !errors.Is(failed, controller.ErrLater) {
			p.leftStatuses.forget(p.key)
		}
		return p.retry(failure.Join([]error{err, failed}), false)
	}
	return controller.Result{RequeueAfter: time.Millisecond, Unfinished: true}, nil
}

// writeLeftStatus writes the status that the last pass has left to this one, which has failed with err before it had an
// answer. It returns err, with that of the write if it is of use.
func (p *pass) writeLeftStatus(ctx context.Context, err error) error {
	left, ok := p.leftStatuses.of(p.key, p.parent.GetUID())
	if !ok || ctx.Err() != nil || errors.Is(err, errGone) {
		return err
	}
	status := left.status
	if left.origin == variant.StatusMerged && p.source.Custom {
		if status, ok = threeWayMerge(left.base, left.status, statusOf(p.parent)); !ok {
			p.leftStatuses.forget(p.key) // Another writer has changed the same: the next answer decides.
			return err
		}
	}
	updated, failed := p.status.Write(ctx, p.source.Resource, p.parent, status)
	if failed != nil { // The pass is retried, and with it this.
		return failure.Join([]error{err, failed})
	}
	p.leftStatuses.forget(p.key)
	if updated != nil {
		p.setParent(updated)
	}
	return err
}
