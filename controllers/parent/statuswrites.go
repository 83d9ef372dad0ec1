package parent

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/parent/statuses"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// DefaultStatusDelay is how long a host leaves a status to later passes: see Environment.StatusDelay.
const DefaultStatusDelay = time.Second

// leaveStatus reports whether the status is left to the next pass, and has that made in time. That pass is made anyway, as
// children were written, and no hook can tell, as none reads the parent's status.
func (p *pass) leaveStatus(desired variant.Desired, applied bool) bool {
	if p.env.StatusDelay <= 0 || !applied || !p.writes.awaitsEvents || p.used.read&(answers.ReadStatus|answers.ReadVersion) != 0 ||
		p.isTerminating() || len(desired.Problems) > 0 || len(desired.Waits()) > 0 {
		return false
	}
	now := p.env.Clock.Now()
	left := statuses.Status{UID: p.parent.GetUID(), Since: now, Status: desired.Status, Origin: desired.StatusOrigin}
	if left.Origin == variant.StatusMerged {
		left.Base = jsonvalue.ObjectIn(p.observed.Parent.Object, "status")
	}
	p.due.status = p.deferredStatuses.Defer(p.key, left).Add(p.env.StatusDelay)
	return now.Before(p.due.status)
}

// sawOldStatus reports whether the hooks may have read the parent's status while that of their last answer was left to this pass. It may
// be their memory, also if the call that set it has not read it.
func (p *pass) sawOldStatus() bool {
	_, left := p.deferredStatuses.Of(p.key, p.parent.GetUID())
	return left && p.used.read&(answers.ReadStatus|answers.ReadVersion) != 0
}

// callAgain ends a pass whose hooks have answered, or failed with err, with an old status in view. It writes the one that was left, and
// has the hooks called again. A status that can't be written is left no longer, so that it does not hold up the children.
func (p *pass) callAgain(ctx context.Context, err error) (controller.Result, error) {
	if failed := p.writeLeftStatus(ctx, nil); failed != nil {
		if !errors.Is(failed, controller.ErrLater) {
			p.deferredStatuses.Forget(p.key)
		}
		return p.retry(failure.Join([]error{err, failed}), false)
	}
	return controller.Result{RequeueAfter: time.Millisecond, Unfinished: true}, nil
}

// writeLeftStatus writes the status that the last pass has left to this one, which has failed with err before it had an
// answer. It returns err, with that of the write if it is of use.
func (p *pass) writeLeftStatus(ctx context.Context, err error) error {
	left, ok := p.deferredStatuses.Of(p.key, p.parent.GetUID())
	if !ok || ctx.Err() != nil || errors.Is(err, errGone) {
		return err
	}
	status := left.Status
	if left.Origin == variant.StatusMerged && p.source.Custom {
		if status, ok = statuses.ThreeWayMerge(left.Base, left.Status, jsonvalue.ObjectIn(p.parent.Object, "status")); !ok {
			p.deferredStatuses.Forget(p.key) // Another writer has changed the same: the next answer decides.
			return err
		}
	}
	updated, failed := p.status.Write(ctx, p.source.Resource, p.parent, status)
	if failed != nil { // The pass is retried, and with it this.
		return failure.Join([]error{err, failed})
	}
	p.deferredStatuses.Forget(p.key)
	if updated != nil {
		p.setParent(updated)
	}
	return err
}

// addSyncConditions adds the conditions of a pass that has applied the children, or failed to, to the desired status.
func (p *pass) addSyncConditions(desired *variant.Desired, applied error) {
	if !p.hasSyncConditions() {
		return
	}
	before := jsonvalue.ObjectIn(p.parent.Object, "status")
	if desired.Status == nil { // What others write stays.
		desired.Status, desired.StatusOrigin = variant.MergeFields(before, nil), variant.StatusMerged
	}
	err := failure.Join(append(desired.Problems, applied))
	ended := p.ended(failure.RetryOf(err, !p.used.nondeterministic.Load()), err, desired.Waits())
	desired.Status = statuses.WithSyncConditions(desired.Status, before, ended, p.parent.GetGeneration(), p.observed.Now)
	p.desired = *desired
}

// writeSyncConditions writes the conditions of a pass that has failed with err before it had an answer. It returns err, with that of the
// write if it is of use. What soon passes is not written, and nothing before a status that the last pass has left to this one.
func (p *pass) writeSyncConditions(ctx context.Context, err error, repeatable bool) error {
	_, left := p.deferredStatuses.Of(p.key, p.parent.GetUID())
	if !p.hasSyncConditions() || left || ctx.Err() != nil || errors.Is(err, controller.ErrLater) || errors.Is(err, errGone) {
		return err
	}
	before, generation := jsonvalue.ObjectIn(p.parent.Object, "status"), p.parent.GetGeneration()
	status := variant.MergeFields(before, map[string]any{ObservedGenerationField: generation})
	ended := p.ended(failure.RetryOf(err, repeatable), err, nil)
	status = statuses.WithSyncConditions(status, before, ended, generation, p.env.Clock.Now())
	if failed := p.writeStatus(ctx, variant.Desired{Status: status, StatusOrigin: variant.StatusMerged}, false); failed != nil {
		return failure.Join([]error{err, failed})
	}
	return err
}

// hasSyncConditions reports whether the status has conditions of syncs. Those of a built-in kind are another controller's.
func (p *pass) hasSyncConditions() bool {
	return p.config.Status.Conditions && p.source.HasStatus && p.source.Custom
}

// hasStatus reports whether there is a status to write.
func (p *pass) hasStatus(desired variant.Desired) bool {
	return desired.Status != nil && (p.source.HasStatus || p.config.Status.WithObject)
}

// leaveSharedStatus leaves the status of a parent alone if no hook has returned one, and another definition may write it.
func (p *pass) leaveSharedStatus(desired *variant.Desired) {
	if desired.StatusOrigin == variant.StatusImplied &&
		len(p.env.Registry.DefinitionsWriting(p.config.Definition, p.observed.Parent, loops.ParentStatus)) > 0 {
		desired.Status = nil
	}
}

// mayWrite reports whether the definition writes a part of its parents. Composites and maps write a status whatever their hooks answer. A
// decorator writes what its hook returns: that is known once it has, or once all parents have been synced.
func (r *shared) mayWrite(source *sources.Parent, part string) bool {
	if part == loops.ParentStatus && !r.config.Status.WithObject {
		return source.HasStatus
	}
	return r.detector.Own.HasWritten(part) || part == loops.ParentStatus && !r.states.HasSwept()
}

// writeStatus writes the status if it differs from the desired one, unless it is left to the next pass.
func (p *pass) writeStatus(ctx context.Context, desired variant.Desired, applied bool) error {
	switch {
	case !p.hasStatus(desired):
		p.deferredStatuses.Forget(p.key)
		return nil
	case p.status.Stored(p.source.Resource, p.parent, desired.Status):
		p.detector.Own.NoteWriter(loops.ParentStatus)
		p.deferredStatuses.Forget(p.key)
		return nil
	}
	if p.leaveStatus(desired, applied) {
		return nil
	}
	p.deferredStatuses.Forget(p.key)
	p.due.status = time.Time{}
	if p.partBacksOff(ctx, loops.ParentStatus) {
		return nil
	}
	updated, err := p.status.Write(ctx, p.source.Resource, p.parent, desired.Status)
	if apierrors.IsConflict(err) {
		updated, err = p.retryStatus(ctx, desired, err)
	}
	if updated != nil {
		before := p.parent // The live one after a conflict, so that what others changed meanwhile is not taken for own.
		p.setParent(updated)
		p.notePart(loops.ParentStatus, before)
		p.reportDroppedFields(desired.Status)
	}
	return err
}

// setParent continues with the parent as the API server returned it.
func (p *pass) setParent(updated *unstructured.Unstructured) {
	updated.SetManagedFields(nil)
	p.pendingWrites.NoteWritten(p.parent.GetUID(), updated, false)
	p.parent, p.writes.any = updated, true
}

// maxConflictRetries is how often one write of a parent is tried again after a conflict: each attempt is a race with other writers.
const maxConflictRetries = 5

// retryStatus writes the status after a conflict to the live parent if other writers have changed
// only metadata and status. A change of labels or annotations causes another pass anyway.
// Otherwise it returns the conflict.
func (p *pass) retryStatus(ctx context.Context, desired variant.Desired, conflict error) (*unstructured.Unstructured, error) {
	observed := p.parent
	for range maxConflictRetries {
		live, err := p.live(ctx, observed, p.source)
		if err != nil {
			return nil, err
		}
		status := desired.Status
		same := sameSpec(observed, live)
		if same && desired.StatusOrigin == variant.StatusMerged && p.source.Custom {
			base, theirs := jsonvalue.ObjectIn(observed.Object, "status"), jsonvalue.ObjectIn(live.Object, "status")
			status, same = statuses.ThreeWayMerge(base, desired.Status, theirs)
		}
		if !same {
			return nil, conflict
		}
		p.setParent(live)
		updated, err := p.status.Write(ctx, p.source.Resource, live, status)
		if !apierrors.IsConflict(err) {
			return updated, err
		}
		conflict = err
	}
	return nil, conflict
}
