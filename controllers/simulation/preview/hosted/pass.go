package hosted

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/scripts"
)

// pass is one pass over parents of a sample with one revision.
type pass struct {
	sample   *samples.Sample
	programs map[string]engines.Program
	scripts  *preview.Scripts
	base     *stage.Base
	reads    *access.Reviewer
	now      time.Time
}

// newPass returns a pass with the new scripts, and servingPass one with those that serve. They make no calls after a time.
func (r *run) newPass(ctx context.Context, sample *samples.Sample, until time.Time) *pass {
	return r.passOf(ctx, sample, r.Plan, r.Scripts, r.Revision, until)
}

func (r *run) servingPass(ctx context.Context, sample *samples.Sample, until time.Time) *pass {
	return r.passOf(ctx, sample, r.Serving, r.ServingScripts, r.ServingRevision, until)
}

func (r *run) passOf(
	ctx context.Context, sample *samples.Sample, plan *plan.Plan, texts map[string]engines.Program,
	revision scripts.RevisionID, until time.Time,
) *pass {
	c := newCalls(ctx, until)
	return &pass{
		sample: sample, programs: c.programs(plan, texts), scripts: c.scripts(plan, revision, r.ProgramsOf), reads: r.access, now: time.Now(),
		base: &stage.Base{
			Plan: plan, Host: stage.Host{HostNamespace: r.namespace}, Schemas: r.schemas,
			Resources: knownResources(r.Plan.Resources(), r.Serving, sample.Resources, r.Resources),
		},
	}
}

// minHalves is how many parents are passed in halves. For fewer it does not pay.
const minHalves = 10

// run makes the pass over some parents. Half of them are passed beside the others: one hook is called at a time, and what comes before and
// after a call is done while a hook is called for the other half. What a customize hook asks for must be there in the time of its call, so
// that it waits for no other: then parents are passed in turn.
func (p *pass) run(ctx context.Context, parents []*unstructured.Unstructured) ([]*preview.Result, error) {
	if len(parents) < minHalves || p.base.Plan.Config.Customize != nil {
		return p.inTurn(ctx, parents)
	}
	half := len(parents) / 2
	second := goRecovering(func() ([]*preview.Result, error) { return p.inTurn(ctx, parents[half:]) })
	results, err := p.inTurn(ctx, parents[:half])
	more, errOfMore := second()
	return append(results, more...), cmp.Or(err, errOfMore)
}

// inTurn makes the pass over some parents, in this order.
func (p *pass) inTurn(ctx context.Context, parents []*unstructured.Unstructured) ([]*preview.Result, error) {
	if len(parents) == 0 {
		return nil, nil
	}
	view := p.sample.View()
	return preview.Run(ctx, preview.Input{
		Base: p.base, Objects: view.Objects, Parents: parents, Programs: p.programs, Scripts: p.scripts,
		Passes: 1, OnlyDestroyed: true, Now: p.now, Reads: p.reads,
		Existing: func(resource memcluster.Resource, name types.NamespacedName) (*unstructured.Unstructured, error) {
			object, cached, err := view.Existing(resource.Resource, name)
			return object, unknownUnless(cached, err, resource.GroupResource().String())
		},
		Related: func(ctx context.Context, selection parent.Selection) ([]*unstructured.Unstructured, error) {
			related, err := view.Related(ctx, selection)
			return related, unknownUnless(true, err, "")
		},
	})
}

// goRecovering calls f in another goroutine. The result waits for it, and panics if it does, where that is recovered.
func goRecovering[T any](f func() (T, error)) (wait func() (T, error)) {
	var (
		result T
		err    error
		cause  any
	)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() { cause = recover() }()
		result, err = f()
	}()
	return func() (T, error) {
		if <-done; cause != nil {
			panic(cause)
		}
		return result, err
	}
}
