package parent

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// pass is one pass over one parent.
type pass struct {
	*shared
	key      controller.Key
	source   *parentSource
	parent   *unstructured.Unstructured // as it is now: newer after each write
	programs Programs

	claim       variant.Claim // by which the parent owns children
	rules       []apply.Rule
	observed    variant.Observed
	fingerprint uint64
	// adoptRevisions are those of observed.Revisions that have no owner yet.
	adoptRevisions []*unstructured.Unstructured
	// revisionRule is by which the parent owns ControllerRevisions.
	revisionClaim variant.Claim
	mu            sync.Mutex
	// renew is when the first of the answers used expires, or zero.
	answersUntil time.Time
	// relatedUntil is when the customize hook's answer expires, or zero.
	relatedUntil time.Time
	// fickle is set once the outcome may differ another time though nothing
	// that was observed does.
	nondeterministic atomic.Bool
	// wrote is set by the first write.
	wrote bool
	// rest is how long some child is still left alone, or zero.
	shortestBackoff time.Duration
	// unapplied are why children were left as they are without asking again.
	unapplied []error
	// failed are why writes of children failed, those included that nobody is told of.
	failed []error
	// strays are outputs of which nothing tells whose they are.
	unownedOutputs []apply.Key
	// awaits are the namespaces that children could not be created in.
	missingNamespaces map[string]bool
	// rivals are who last wrote children that are written again and again.
	otherManagers map[apply.Key]string
	// desired are the children that the hooks want; the others are made of it and of what
	// was observed when they are first asked for.
	desired      []*unstructured.Unstructured
	common       *fightInputs
	desiredByKey map[apply.Key]*unstructured.Unstructured
	desiredNames map[apply.Key]uint64 // by kind
}

// run is the heart of every controller that this program hosts.
func (p *pass) run(ctx context.Context) (controller.Result, error) {
	// 1. Observe the parent, its children and what else the hooks will see.
	if err := p.observe(ctx); err != nil {
		return p.retry(err, false)
	}
	if result, idle := p.passCache.lookupResult(p.key, p.fingerprint); idle {
		return p.requeueAtExpiry(result), nil
	}
	p.rules = p.rulesBySchema(ctx)
	// 2. Ask the hooks for the desired state.
	desired, err := p.callHooks(ctx)
	if err != nil {
		return p.retry(err, !p.nondeterministic.Load())
	}
	// 3. Apply the difference.
	applied := p.apply(ctx, desired)
	// 4. Write the status, whether or not every child could be applied.
	written := p.writeParent(ctx, desired, applied == nil)
	return p.conclude(desired, joinErrors(append(desired.Problems, applied, written)))
}

// conclude says when the parent is looked at again, and remembers a pass that
// changed nothing and would not another time.
func (p *pass) conclude(desired variant.Desired, err error) (controller.Result, error) {
	result := controller.Result{RequeueAfter: earlier(p.resyncAfter(desired), p.shortestBackoff)}
	if !p.answersUntil.IsZero() {
		result.RequeueAfter = earlier(result.RequeueAfter, max(p.answersUntil.Sub(p.env.Clock.Now()), time.Millisecond))
	}
	if err != nil {
		failed := errors.Join(append(p.failed, append(desired.Problems, err)...)...)
		if result.Retry = retryOf(failed, !p.nondeterministic.Load()); errors.Is(err, controller.ErrLater) {
			result.RequeueAfter = retryAfter(err)
		} else {
			result.RequeueAfter = earlier(result.RequeueAfter, retryAfter(failed))
		}
		return result, err
	}
	if !p.wrote && p.shortestBackoff == 0 && p.answersUntil.IsZero() && !p.nondeterministic.Load() && !desired.TimeDependent {
		p.passCache.rememberResult(p.key, p.fingerprint, result)
	}
	return p.requeueAtExpiry(result), nil
}

// untilExpired is a result with which the parent is looked at when the customize hook's
// answer expires. It is no part of what is remembered: the answer is renewed in between.
func (p *pass) requeueAtExpiry(result controller.Result) controller.Result {
	if !p.relatedUntil.IsZero() {
		result.RequeueAfter = earlier(result.RequeueAfter, max(p.relatedUntil.Sub(p.env.Clock.Now()), time.Millisecond))
	}
	return result
}

// sooner gives the shorter of two times, of which zero means never.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// next is the time until the parent is looked at though nothing happened: what
// the hook asks for, or the definition's period, whichever is sooner. Parents
// that started together drift apart by their UID.
func (p *pass) resyncAfter(desired variant.Desired) time.Duration {
	after := time.Duration(desired.ResyncAfterSeconds * float64(time.Second))
	return earlier(after, jitter(p.parent.GetUID(), p.config.ResyncPeriod))
}

// writeParent writes what the hooks want of the parent itself: its status, then
// its labels and annotations, and last, if all went well, the finalizer.
func (p *pass) writeParent(ctx context.Context, desired variant.Desired, applied bool) error {
	status := p.writeStatus(ctx, desired)
	if errors.Is(status, controller.ErrLater) {
		return status // The version at hand is not the newest: nothing else could be written either.
	}
	desired.Finalized = desired.Finalized && applied && status == nil && len(desired.Problems) == 0
	return errors.Join(status, p.writeMetadata(ctx, desired))
}

// writeStatus makes the parent's status the desired one if it differs.
func (p *pass) writeStatus(ctx context.Context, desired variant.Desired) error {
	if desired.Status == nil || !p.source.HasStatus && !p.config.StatusWithObject {
		return nil
	}
	if p.status.Stored(p.source.Resource, p.parent, desired.Status) || p.limitStatus() {
		return nil
	}
	updated, err := p.status.Write(ctx, p.source.Resource, p.parent, desired.Status)
	if apierrors.IsConflict(err) {
		updated, err = p.retryStatus(ctx, desired, err)
	}
	if updated != nil {
		p.statusLimiter.countWrite(p.key, p.commonInputs()[specInput])
		p.setParent(updated)
		p.reportDroppedFields(desired.Status)
	}
	return err
}

// wroteParent goes on with the parent as the API server returned it.
func (p *pass) setParent(updated *unstructured.Unstructured) {
	updated.SetManagedFields(nil)
	p.pendingWrites.noteWritten(p.parent.GetUID(), updated, false)
	p.parent, p.wrote = updated, true
}

// together makes one error of several. It is one of those that pass by
// themselves only if all of them are.
func joinErrors(errs []error) error {
	var lasting []error
	for _, err := range errs {
		if err != nil && !errors.Is(err, controller.ErrLater) {
			lasting = append(lasting, err)
		}
	}
	if len(lasting) > maxErrors {
		lasting = append(lasting[:maxErrors:maxErrors], moreErrors(len(lasting)-maxErrors))
	}
	if len(lasting) > 0 {
		return errors.Join(lasting...)
	}
	return errors.Join(errs...)
}

// mostErrors is how many errors of one pass are told.
const maxErrors = 5

// again says how a pass that made nothing is made again.
func (p *pass) retry(err error, repeatable bool) (controller.Result, error) {
	return controller.Result{RequeueAfter: retryAfter(err), Retry: retryOf(err, repeatable)}, err
}

// retryAfter is the time for which the far side asked, or zero: of several, the shortest.
func retryAfter(err error) (after time.Duration) {
	eachError(err, func(err error) {
		var e *engines.Error
		if errors.As(err, &e) {
			after = earlier(after, e.RetryAfter)
		}
	})
	return after
}
