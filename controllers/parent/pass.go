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
	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
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
	// unchanged is set if the last pass saw the same, so that no hook is called.
	unchanged bool
	// used is what the answers of the hooks depend on.
	used usedInputs
	// desired is what the hooks want, once they have answered.
	desired  variant.Desired
	answered bool

	writes passWrites
	// due is when another pass must be made.
	due nextPass
	// unownedOutputs are outputs of an unknown map.
	unownedOutputs []apply.Key
	// missingNamespaces are those in which children could not be created.
	missingNamespaces map[string]bool
	console           console
	loop              loopInputs
}

// usedInputs are what the answers of a pass depend on. Calls are concurrent.
type usedInputs struct {
	mu sync.Mutex
	// read is what the hooks and the variant have read.
	read answers.Inputs
	// nondeterministic is set if another pass over the same objects may have another result.
	nondeterministic atomic.Bool
	// knownAnswers counts the calls that were not made, as their answers are known.
	knownAnswers atomic.Int32
}

// passWrites are what a pass has written, and what not.
type passWrites struct {
	// any is set by the first write, and children by the first of a child. awaitsEvents is set if events of those are to come, and partial
	// if one was answered by metadata alone.
	any, children, awaitsEvents, partial bool
	// unapplied are the errors of changes that were skipped because of backoff.
	unapplied []error
	// failed are the errors of all failed writes of children, also of those that are not reported.
	failed []error
	// counts are the numbers of written children by action, for the log.
	counts map[apply.Action]int
	// changed are the children that were created or deleted, by action, for events.
	changed map[apply.Action][]apply.Change
}

// nextPass is when another pass must be made for several reasons. Zero means that none is needed for that.
type nextPass struct {
	// answers is when the first of the used answers expires, and related when that of the customize hook does.
	answers, related time.Time
	// status is when a status that was left to the next pass must be written.
	status time.Time
	// backoff is the shortest time that a child or the status is still in backoff.
	backoff time.Duration
}

// newPass returns a pass over a parent, whose programs are those of one revision from its begin to its end.
func (r *shared) newPass(key controller.Key, parent *unstructured.Unstructured, source *sources.Parent) *pass {
	return &pass{
		shared: r, key: key, source: source, parent: parent, programs: r.config.Programs(parent),
		loop: loopInputs{others: map[apply.Key]string{}},
	}
}

// sync makes the pass, and notes how it ended.
func (p *pass) sync(ctx context.Context) (controller.Result, health.End, error) {
	result, err := p.run(ctx)
	if err == nil {
		result = p.awaitFinalized(result)
		p.noteRequest()
	}
	result = p.awaitContents(result)
	p.awaitNamespaces(ctx)
	p.logConsole(err != nil)
	p.logEnd(result, err)
	p.traceInputs(ctx)
	if ctx.Err() == nil && (err != nil || !result.Unfinished) {
		p.noteSync(result.Retry, err)
	}
	return result, p.end(err), err
}

// run syncs the parent in five steps.
func (p *pass) run(ctx context.Context) (controller.Result, error) {
	// 1. Observe the parent, its children and the other input of the hooks.
	if err := p.observe(ctx); err != nil {
		return p.endWithoutAnswer(ctx, err, false)
	}
	if result, unchanged := p.passCache.LookupResult(p.key, p.fingerprint, p.parent); unchanged {
		return p.endUnchanged(result), nil
	}
	// 2. Call the hooks for the desired state.
	p.rules = p.rulesBySchema(ctx)
	desired, err := p.callHooks(ctx)
	if p.sawOldStatus() {
		return p.callAgain(ctx, err)
	}
	if err != nil {
		return p.endWithoutAnswer(ctx, err, !p.used.nondeterministic.Load())
	}
	p.leaveSharedStatus(&desired)
	p.desired, p.answered = desired, true
	// 3. Apply the difference.
	applied := p.apply(ctx, desired)
	p.addSyncConditions(&desired, applied)
	// 4. Write the status, even if some children could not be applied, or leave it to the next pass.
	written := p.writeParent(ctx, desired, applied == nil)
	// 5. Report what waits, what has no effect, and what the hooks want to be known.
	p.reportFinalized(desired.Finalized)
	p.noteWaits(desired.Waits())
	p.emitEvents(desired, applied == nil && (written == nil || errors.Is(written, controller.ErrLater)))
	return p.conclude(desired, failure.Join(append(desired.Problems, applied, written)))
}

// endWithoutAnswer ends a pass that has failed with err before the hooks answered.
func (p *pass) endWithoutAnswer(ctx context.Context, err error, repeatable bool) (controller.Result, error) {
	p.noteNoAnswer(ctx, err)
	return p.retry(p.writeSyncConditions(ctx, p.writeLeftStatus(ctx, err), repeatable), repeatable)
}

// endUnchanged ends a pass that would call no hook and write nothing, as the last one saw the same and had that result.
func (p *pass) endUnchanged(result controller.Result) controller.Result {
	p.deferredStatuses.Forget(p.key)
	p.unchanged = true
	result.RequeueAfter = p.limitResync(result.RequeueAfter)
	p.noteNoHotLoop()
	return p.requeueAtExpiry(result)
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
