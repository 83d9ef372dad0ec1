package composite

import (
	"fmt"
	"math"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// updateStartedAt is the annotation of a ControllerRevision with the time when the update of
// a child to it last started. It is written together with the list of children, so that it
// costs no request and survives a restart.
const updateStartedAt = v1alpha1.GroupName + "/moved-at"

// lastProgress returns when the parent's rollout last made progress: when the update of a
// child started, or when the newest revision was created. It is never in the future, even if an
// annotation is.
func (r *rollingUpdate) lastProgress(now time.Time) time.Time {
	if len(r.started) > 0 || r.updateRevision.stored == nil {
		return now
	}
	at := r.updateRevision.lastProgress()
	for _, old := range r.oldRevisions {
		if t := old.lastProgress(); t.After(at) {
			at = t
		}
	}
	if at.After(now) {
		return now
	}
	return at
}

func (r *revision) lastProgress() time.Time {
	created := r.stored.GetCreationTimestamp().Time
	started, err := time.Parse(time.RFC3339, r.stored.GetAnnotations()[updateStartedAt])
	if err != nil || created.After(started) {
		return created
	}
	return started
}

// checkDeadline sets reason ProgressDeadlineExceeded if a rollout has waited for longer than
// its deadline. Otherwise it returns the seconds that are left, at least 1, or 0 if there is no
// deadline. The time counts from the last progress, even if that was before a pause or before
// the parent returned to an old revision.
func (c *condition) checkDeadline(deadline int32, since, now time.Time) (left float64) {
	if deadline == 0 || c.reason != reasonWaiting {
		return 0
	}
	remaining := since.Add(time.Duration(deadline) * time.Second).Sub(now)
	if remaining > 0 {
		return max(math.Ceil(remaining.Seconds()), 1)
	}
	c.reason = reasonDeadlineExceeded
	c.message += fmt.Sprintf(": nothing has moved for %d seconds or more", deadline)
	return 0
}

// deadline returns the progress deadline in seconds, or 0 if there is none. A child that is
// held on purpose has no deadline.
func (r *rollingUpdate) deadline() int32 {
	if !r.waiting() || r.blocker.child.strategy.ProgressDeadlineSeconds == nil {
		return 0
	}
	return *r.blocker.child.strategy.ProgressDeadlineSeconds
}

// setCondition sets the condition Updated of the desired status and requests a resync at the
// deadline. A rollout beyond it is also a warning.
func (r *rollingUpdate) setCondition(desired *variant.Desired, observed variant.Observed) {
	since := r.lastProgress(observed.Now)
	updated := r.condition()
	desired.Rolling = r.unfinished()
	left := updated.checkDeadline(r.deadline(), since, observed.Now)
	desired.ResyncAfterSeconds = variant.Earlier(desired.ResyncAfterSeconds, left)
	desired.TimeDependent = desired.TimeDependent || left > 0
	if updated.reason == reasonDeadlineExceeded {
		desired.Warnings = append(desired.Warnings, variant.Warning{Reason: updated.reason, Message: updated.message})
	}
	if desired.Status == nil || observed.BuiltIn && desired.Status["conditions"] == nil {
		return // The conditions belong to another controller, unless the hook sets them.
	}
	setUpdatedCondition(desired.Status, updated, observedCondition(observed.Parent), since, observed.Now)
}
