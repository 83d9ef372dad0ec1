package parent

import (
	"errors"
	"time"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/statuses"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// gatherExpired is how long expired answers are gathered, so that the many inputs of a map, each with a
// resyncAfterSeconds of its own, do not cost a pass each.
const gatherExpired = 100 * time.Millisecond

// conclude returns when the parent is synced again. It remembers a pass that would change nothing
// the next time.
func (p *pass) conclude(desired variant.Desired, err error) (controller.Result, error) {
	result := controller.Result{RequeueAfter: variant.Earlier(p.resyncAfter(desired), p.due.backoff)}
	if !p.due.answers.IsZero() {
		result.RequeueAfter = variant.Earlier(result.RequeueAfter, max(p.due.answers.Sub(p.env.Clock.Now()), gatherExpired))
	}
	if !p.due.status.IsZero() {
		result.RequeueAfter = variant.Earlier(result.RequeueAfter, max(p.due.status.Sub(p.env.Clock.Now()), time.Millisecond))
	}
	if err != nil {
		return p.concludeFailed(p.requeueAtExpiry(result), desired, err), err
	}
	if p.due.backoff == 0 && !p.writes.any {
		p.noteNoHotLoop()
	}
	if p.due.backoff == 0 && p.due.answers.IsZero() && !p.used.nondeterministic.Load() && !desired.TimeDependent && p.isSettled(desired) {
		p.passCache.RememberResult(p.key, p.fingerprint, p.parent, p.inputsOf(desired), result)
	}
	return p.requeueAtExpiry(result), nil
}

// concludeFailed adds to the result of a pass that failed when it is retried. The time that a hook asked
// for delays no other part of the parent, and what expires often does not make it much shorter.
func (p *pass) concludeFailed(result controller.Result, desired variant.Desired, err error) controller.Result {
	failed := errors.Join(append(p.writes.failed, append(desired.Problems, err)...)...)
	result.Retry = failure.RetryOf(failed, !p.used.nondeterministic.Load())
	switch asked := failure.RetryAfter(failed); {
	case asked > 0:
		result.RequeueAfter = max(variant.Earlier(result.RequeueAfter, asked), failure.MinRetryAfter)
	case errors.Is(err, controller.ErrLater):
		result.RequeueAfter = 0 // The backoff of what passes soon is short.
	}
	return result
}

// requeueAtExpiry returns result with a requeue when the customize hook's answer expires. The
// remembered result is without it, as the answer is renewed in between.
func (p *pass) requeueAtExpiry(result controller.Result) controller.Result {
	if !p.due.related.IsZero() {
		result.RequeueAfter = variant.Earlier(result.RequeueAfter, max(p.due.related.Sub(p.env.Clock.Now()), time.Millisecond))
	}
	return result
}

// resyncAfter returns the delay until the next sync without an event: the hook's
// resyncAfterSeconds or the definition's period, whichever is shorter. The period has a jitter
// by the parent's UID.
func (p *pass) resyncAfter(desired variant.Desired) time.Duration {
	after := p.limitResync(time.Duration(desired.ResyncAfterSeconds * float64(time.Second)))
	return variant.Earlier(after, jitter(p.parent.GetUID(), p.config.ResyncPeriod))
}

const (
	// A parent may be resynced shortResyncs times in less than resyncInterval, and then once in it: a hook that always asks for less
	// would be called without a pause.
	shortResyncs   = 10
	resyncInterval = time.Second
)

// limitResync returns when the parent is resynced if it is to be after that time, which is later if it was resynced too often.
func (p *pass) limitResync(after time.Duration) time.Duration {
	if after <= 0 || after >= resyncInterval {
		return after
	}
	return max(after, p.resyncs.Take(p.key))
}

// retry returns the result of a pass that failed with err before it wrote anything.
func (p *pass) retry(err error, repeatable bool) (controller.Result, error) {
	after := failure.RetryAfter(err)
	if after > 0 { // No resync is delayed.
		after = max(variant.Earlier(after, p.resyncAfter(variant.Desired{})), failure.MinRetryAfter)
	}
	return controller.Result{RequeueAfter: after, Retry: failure.RetryOf(err, repeatable)}, err
}

// noteRead adds what a program has read.
func (p *pass) noteRead(read answers.Inputs) {
	p.used.mu.Lock()
	defer p.used.mu.Unlock()
	p.used.read |= read
}

// inputsOf returns the inputs that count for the result of the pass: what the hooks and the variant have read, and what
// this package compares with the desired state.
func (p *pass) inputsOf(desired variant.Desired) answers.Inputs {
	counted := p.used.read
	if len(desired.Labels) > 0 {
		counted |= answers.ReadLabels
	}
	if len(desired.Annotations) > 0 {
		counted |= answers.ReadAnnotations
	}
	if p.hasStatus(desired) || p.sources.Revisions != nil {
		counted |= answers.ReadStatus
	}
	return counted
}

// isSettled reports whether another pass over the parent as it is now would find the same and write nothing, so that this pass
// can be remembered. It may have written the parent, if no hook has read what it wrote.
func (p *pass) isSettled(desired variant.Desired) bool {
	switch {
	case !p.writes.any:
		return true
	case p.writes.children:
		return false
	case answers.HashParent(p.observed.Parent, p.used.read) != answers.HashParent(p.parent, p.used.read),
		len(p.metadataPatch(p.parent, desired)) > 0:
		return false
	case !p.hasStatus(desired):
		return true
	case desired.StatusOrigin == variant.StatusMerged || p.sources.Revisions != nil:
		// It is made of the observed status, which must be that already.
		return statuses.SameStatus(statuses.ComparedStatus(p.source.Resource, p.parent, desired.Status), desired.Status)
	default:
		return p.status.Stored(p.source.Resource, p.parent, desired.Status)
	}
}
