package parent

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// end returns what the pass knows about its end besides its error.
func (p *pass) end(err error) health.End {
	end := health.End{Edit: p.editOf(p.programs.Revision), Inputs: int32(len(p.observed.Inputs)), FailingInputs: int32(p.desired.FailedInputs)}
	switch {
	case p.answered || err == nil:
		end.InputsKnown = true
	case end.Inputs > 0: // No hook has answered, so that none of them is synced.
		end.InputsKnown, end.FailingInputs = true, end.Inputs
	}
	return end
}

// noteState notes how a pass ended.
func (r *Reconciler) noteState(key controller.Key, parent *unstructured.Unstructured, end health.End, err error) {
	end.Err, end.Waits = err, r.waits.Of(key)
	if r.states.Set(key, parent.GetUID(), end) {
		r.config.Changed()
	}
}

// noteParent notes a parent that has come or gone. Those of a former spec are nothing to its successor, which has the states now.
func (r *Reconciler) noteParent(source *sources.Parent, e informer.Event) {
	switch key := keyOf(source.Kind, e.Object()); {
	case r.replaced.Load():
	case e.New == nil || !source.Manages(e.New):
		r.states.Forget(key)
	case !e.Replay:
		r.states.Add(key, e.New.GetUID())
	}
}

// editOf returns by what a parent is synced: two specs may have the same scripts.
func (r *shared) editOf(revision string) string { return r.config.Spec + "/" + revision }

// Summary returns how the parents are. serving is the revision of the scripts that serves: Updated counts those that were synced by it. It
// takes time for each parent.
func (r *Reconciler) Summary(serving string) health.Summary {
	r.states.SetServing(r.editOf(serving), r.parentKeys)
	s := r.states.Summary(int32(r.Parents()))
	if slices.ContainsFunc(r.sources.Rules, apply.Rule.HoldsBack) {
		s.Outdated = new(r.outdated.Total())
	}
	return s
}

// KeepLastSyncs sets whether it is kept how each parent was synced last, on which a rollout of scripts depends.
func (r *Reconciler) KeepLastSyncs(kept bool) { r.lastSyncs.SetEnabled(kept) }

// BusyAt returns when a sync of a parent last ended because the host had no script worker, or zero.
func (r *Reconciler) BusyAt() time.Time { return r.lastSyncs.BusyAt() }

// noteSync notes how a pass ended, if the scripts are rolled out. A parent that is gone, and that the cache still shows, does not fail.
func (p *pass) noteSync(retry controller.Retry, err error) {
	if errors.Is(err, errGone) {
		return
	}
	if p.lastSyncs.Note(p.key, p.parent.GetUID(), p.ended(retry, err, p.waits.Of(p.key))) {
		p.config.Changed()
	}
}

// ended returns how the pass ends.
func (p *pass) ended(retry controller.Retry, err error, waits []variant.Wait) health.Sync {
	return health.Sync{
		Spec: p.config.Spec, Revision: p.programs.Revision, Retry: retry, Err: err, WroteChildren: p.writes.children,
		Rolling: p.desired.Rolling, Unchanged: p.unchanged, Children: p.observed.Children, Waits: waits,
	}
}

// EachParent calls do for each parent, with how it was synced last.
func (r *Reconciler) EachParent(do func(parent *unstructured.Unstructured, last health.LastSync)) {
	r.sources.EachParent(func(_ *sources.Parent, parent *unstructured.Unstructured) {
		do(parent, r.lastSyncs.Of(parent.GetUID()))
	})
}

// Waits returns what the hooks wait for that answered last about a parent.
func (r *Reconciler) Waits(key controller.Key) []variant.Wait { return r.waits.Of(key) }

// noteWaits records what the hooks wait for, which is nothing if they have failed.
func (p *pass) noteWaits(all []variant.Wait) { p.waits.Set(p.key, all) }

// noteNoAnswer records that the hooks wait for nothing that is known, as the pass failed before they answered. A parent fails or waits, and
// is not both. A failure that soon passes, or the end of the process, changes nothing.
func (p *pass) noteNoAnswer(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, controller.ErrLater) && !errors.Is(err, errGone) {
		p.noteWaits(nil)
	}
}
