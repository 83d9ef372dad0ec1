package composite

import (
	"fmt"
	"math"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// movedAt is the annotation of a ControllerRevision that tells when a child was
// last moved to it. It is written with the move, so that it costs no request and
// outlives the process.
const updateStartedAt = v1alpha1.GroupName + "/moved-at"

// progressed is when the parent's rollout last got on: when a child was moved to
// any revision, or when the newest revision was made.
func (h *history) lastProgress(moved []*rollingChild, now time.Time) time.Time {
	if len(moved) > 0 || h.updateRevision.stored == nil {
		return now
	}
	at := h.updateRevision.lastProgress()
	for _, r := range h.oldRevisions {
		if t := r.lastProgress(); t.After(at) {
			at = t
		}
	}
	return at
}

func (r *revision) lastProgress() time.Time {
	created := r.stored.GetCreationTimestamp().Time
	moved, err := time.Parse(time.RFC3339, r.stored.GetAnnotations()[updateStartedAt])
	if err != nil || created.After(moved) {
		return created
	}
	return moved
}

// overdue makes the condition say that a rollout is stuck if it has waited for
// longer than it may, or else gives the seconds that it has left, at least one.
// It counts from the last move, also where that was before a pause or before the
// parent went back to an old revision.
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

// deadline is how long the rollout may wait, in seconds, or 0 if it may for ever.
// What is held back on purpose has no deadline.
func (r *rollout) deadline() int32 {
	if !r.waiting() || r.blocker.child.strategy.ProgressDeadlineSeconds == nil {
		return 0
	}
	return *r.blocker.child.strategy.ProgressDeadlineSeconds
}

// tell puts the condition into the desired status, and asks for a pass at the
// deadline.
func (r *rollout) setCondition(desired *variant.Desired, h *history, observed variant.Observed) {
	since := h.lastProgress(r.started, observed.Now)
	told := r.condition()
	left := told.checkDeadline(r.deadline(), since, observed.Now)
	desired.ResyncAfterSeconds = sooner(desired.ResyncAfterSeconds, left)
	desired.TimeDependent = left > 0
	if observed.BuiltIn && desired.Status["conditions"] == nil {
		return // The conditions are another controller's, unless the hook takes them on.
	}
	setUpdatedCondition(desired.Status, told, observedCondition(observed.Parent), since, observed.Now)
}

// sooner gives the smaller of two times of which 0 or less means never.
func sooner(a, b float64) float64 {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}
