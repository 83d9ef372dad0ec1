package parent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/parent/statuses"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// pass is one sync of one parent.
type pass struct {
	*shared
	key      controller.Key
	source   *sources.Parent
	parent   *unstructured.Unstructured // updated by each write
	programs Programs
	// oldPrograms are those of other revisions of the scripts that calls name, by ID.
	oldPrograms map[string]oldPrograms

	// claim is the rule by which the parent owns children.
	claim       variant.Claim
	rules       []apply.Rule
	observed    variant.Observed
	fingerprint answers.Fingerprint
	mu          sync.Mutex
	// read is what the hooks and the variant have read.
	read answers.Inputs
	// answersUntil is when the first of the used answers expires, or zero.
	answersUntil time.Time
	// relatedUntil is when the customize hook's answer expires, or zero.
	relatedUntil time.Time
	// nondeterministic is set if another pass over the same objects may have another result.
	nondeterministic atomic.Bool
	// wrote is set by the first write, and wroteChildren by the first of a child. awaitsEvents is set if events of those are to come.
	wrote, wroteChildren, awaitsEvents bool
	// statusDue is when a status that was left to the next pass must be written, or zero.
	statusDue time.Time
	// wrotePartial is set by the first write that was answered by metadata alone.
	wrotePartial bool
	// knownAnswers counts the calls that were not made, as their answers are known.
	knownAnswers atomic.Int32
	// shortestBackoff is the shortest time that a child or the status is still in backoff, or
	// zero.
	shortestBackoff time.Duration
	// unapplied are the errors of changes that were skipped because of backoff.
	unapplied []error
	// failed are the errors of all failed writes of children, also of those that are not
	// reported.
	failed []error
	// unownedOutputs are outputs of an unknown map.
	unownedOutputs []apply.Key
	// console is what the hooks wrote, and consoleBytes its size.
	console      []consoleOutput
	consoleBytes int
	// failedInputs is how many inputs have a problem; it is known once the hooks have answered.
	failedInputs int
	answered     bool
	// written counts the written children by action, for the log.
	written map[apply.Action]int
	// changed are the children that were created or deleted, by action, for events.
	changed map[apply.Action][]apply.Change
	// missingNamespaces are those in which children could not be created.
	missingNamespaces map[string]bool
	// rolling is why the rolling update of children is not done, or empty. A pass that is idle does not know it.
	rolling string
	idle    bool
	// otherManagers are the last other writers of children that are rewritten again and again.
	otherManagers map[apply.Key]string
	// hashed is what hot loops are told by.
	hashed inputHashes
}

// run syncs the parent in five steps.
func (p *pass) run(ctx context.Context) (controller.Result, error) {
	// 1. Observe the parent, its children and the other input of the hooks.
	if err := p.observe(ctx); err != nil {
		p.noteNoAnswer(ctx, err)
		return p.retry(p.writeLeftStatus(ctx, err), false)
	}
	if result, idle := p.passCache.LookupResult(p.key, p.fingerprint, p.parent); idle {
		p.leftStatuses.Forget(p.key)
		p.idle = true
		result.RequeueAfter = p.limitResync(result.RequeueAfter)
		p.noteCalm()
		return p.requeueAtExpiry(result), nil
	}
	p.rules = p.rulesBySchema(ctx)
	// 2. Call the hooks for the desired state.
	desired, err := p.callHooks(ctx)
	if p.sawOldStatus() {
		return p.callAgain(ctx, err)
	}
	if err != nil {
		p.noteNoAnswer(ctx, err)
		return p.retry(p.writeLeftStatus(ctx, err), !p.nondeterministic.Load())
	}
	p.leaveSharedStatus(&desired)
	p.failedInputs, p.answered, p.rolling, p.hashed.desired = desired.FailedInputs, true, desired.Rolling, desired
	// 3. Apply the difference.
	applied := p.apply(ctx, desired)
	// 4. Write the status, even if some children could not be applied, or leave it to the next pass.
	written := p.writeParent(ctx, desired, applied == nil)
	// 5. Report what waits, what has no effect, and what the hooks want to be known.
	p.reportFinalized(desired.Finalized)
	p.noteWaits(desired.Waits())
	p.emitEvents(desired, applied == nil && (written == nil || errors.Is(written, controller.ErrLater)))
	return p.conclude(desired, failure.Join(append(desired.Problems, applied, written)))
}

// gatherExpired is how long expired answers are gathered, so that the many inputs of a map, each with a
// resyncAfterSeconds of its own, do not cost a pass each.
const gatherExpired = 100 * time.Millisecond

// conclude returns when the parent is synced again. It remembers a pass that would change nothing
// the next time.
func (p *pass) conclude(desired variant.Desired, err error) (controller.Result, error) {
	result := controller.Result{RequeueAfter: variant.Earlier(p.resyncAfter(desired), p.shortestBackoff)}
	if !p.answersUntil.IsZero() {
		result.RequeueAfter = variant.Earlier(result.RequeueAfter, max(p.answersUntil.Sub(p.env.Clock.Now()), gatherExpired))
	}
	if !p.statusDue.IsZero() {
		result.RequeueAfter = variant.Earlier(result.RequeueAfter, max(p.statusDue.Sub(p.env.Clock.Now()), time.Millisecond))
	}
	if err != nil {
		return p.concludeFailed(p.requeueAtExpiry(result), desired, err), err
	}
	if p.shortestBackoff == 0 && !p.wrote {
		p.noteCalm()
	}
	if p.shortestBackoff == 0 && p.answersUntil.IsZero() && !p.nondeterministic.Load() && !desired.TimeDependent && p.isSettled(desired) {
		p.passCache.RememberResult(p.key, p.fingerprint, p.parent, p.inputsOf(desired), result)
	}
	return p.requeueAtExpiry(result), nil
}

// concludeFailed adds to the result of a pass that failed when it is retried. The time that a hook asked
// for delays no other part of the parent, and what expires often does not make it much shorter.
func (p *pass) concludeFailed(result controller.Result, desired variant.Desired, err error) controller.Result {
	failed := errors.Join(append(p.failed, append(desired.Problems, err)...)...)
	result.Retry = failure.RetryOf(failed, !p.nondeterministic.Load())
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
	if !p.relatedUntil.IsZero() {
		result.RequeueAfter = variant.Earlier(result.RequeueAfter, max(p.relatedUntil.Sub(p.env.Clock.Now()), time.Millisecond))
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

// writeParent writes the parent's status, then its labels and annotations. If all succeeded it
// removes the finalizer with the latter. A status that the API server refuses keeps no finalizer: no
// retry would ever let the parent go.
func (p *pass) writeParent(ctx context.Context, desired variant.Desired, applied bool) error {
	status := p.writeStatus(ctx, desired, applied)
	if errors.Is(status, controller.ErrLater) {
		return status // The version is out of date: another write would conflict too.
	}
	desired.Finalized = desired.Finalized && applied && (status == nil || failure.IsRefused(status)) && len(desired.Problems) == 0
	held := p.guardFinalizer(ctx, desired)
	desired.Finalized = desired.Finalized && held == nil
	if status != nil && p.removesFinalizer(p.parent, desired) {
		status = withoutFinalizerAnyway(status)
	}
	return errors.Join(held, status, p.writeMetadata(ctx, desired))
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
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read |= read
}

// inputsOf returns the inputs that count for the result of the pass: what the hooks and the variant have read, and what
// this package compares with the desired state.
func (p *pass) inputsOf(desired variant.Desired) answers.Inputs {
	counted := p.read
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
	case !p.wrote:
		return true
	case p.wroteChildren:
		return false
	case answers.HashParent(p.observed.Parent, p.read) != answers.HashParent(p.parent, p.read), len(p.metadataPatch(p.parent, desired)) > 0:
		return false
	case !p.hasStatus(desired):
		return true
	case desired.StatusOrigin == variant.StatusMerged || p.sources.Revisions != nil: // It is made of the observed status, which must be that already.
		return statuses.SameStatus(statuses.ComparedStatus(p.source.Resource, p.parent, desired.Status), desired.Status)
	default:
		return p.status.Stored(p.source.Resource, p.parent, desired.Status)
	}
}
