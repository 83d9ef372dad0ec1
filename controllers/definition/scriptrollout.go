package definition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// rolloutDriver returns the instance whose edit is the target of a rollout: that of the newest spec, if it is another one than serves.
func (s *runtimeState) rolloutDriver(state *rollout.State) *instance {
	switch {
	// If nothing runs, or no revision that served fits the spec of the next instance, there is nothing to go on from: it alone decides.
	case s.running == nil || s.next != nil && s.next.hooks.Unassigned && s.next.hooks.Tree.Current() != nil:
		return s.next
	case s.newest != nil && (s.updated != nil || s.isOther(s.newest, state)):
		return s.newest
	case s.newest == nil && s.updated != nil:
		return s.updated
	}
	return s.running
}

// decideRollout returns the next state of the rollout of a definition.
func (r *Reconciler) decideRollout(object *unstructured.Unstructured, s *runtimeState) rollout.Progress {
	if s.shards.follows {
		return s.followRollout(object)
	}
	state := s.rolloutState(object)
	driver := s.rolloutDriver(&state)
	over := s.exceededBy(driver)
	if driver == nil || !s.isManaged(driver, object) && over == (rollout.Exceeded{}) {
		return rollout.Progress{}
	}
	if driver.hooks.Unassigned { // Nothing that served does for the spec.
		state.StableRevision, state.StableSpec = "", nil
	}
	v := rollout.Progress{Managed: true, Next: state, Serving: s.stableScripts(&state)}
	in := rollout.Input{
		Spec: s.rollout, State: state,
		Request: strings.TrimSpace(object.GetAnnotations()[v1alpha1.RolloutRequestAnnotation]),
		Now:     r.config.Environment.Clock.Now(), Since: driver.startedAt, BusyAt: driver.reconciler.BusyAt(),
		Exceeded: over, Analysis: s.ofMembers(&state).analysis.result(),
	}
	if s.running != nil {
		in.Since = s.running.startedAt
	}
	s.setPin(object, &v, &in)
	unsettled := s.setTarget(driver, &in)
	v.Target, v.Edit = in.Target, in.TargetEdit
	elsewhere, known := s.shards.parents()
	switch {
	case s.running != nil && s.running.synced.Load() && !s.awaitsSpec(&state) && (known || state.StableRevision == ""):
		in.Parents = append(r.rolloutParents(s, state), elsewhere...)
	case state.StableRevision != "": // Nobody knows yet how parents are.
		return v
	}
	result := rollout.Next(in)
	if over.Revision != "" && in.Pinned == over.Revision {
		v.PinHeld = &over
	}
	if result.Unarchived {
		v.Unarchived = driver.unarchivedOf(&v, &in)
	}
	v.Next, v.After, v.Waiting, v.Lost = result.State, variant.Earlier(result.After, unsettled), rollout.WaitingText(result), result.Lost
	s.refreshSpec(&v.Next, &state)
	v.Serving = s.stableScripts(&v.Next)
	if v.Next.StableRevision == "" && driver.hooks.Tree != nil { // The newest revision serves all parents again.
		v.Serving = scripts.RevisionID(in.Target)
	}
	stored := v1alpha1.StoredStatus(object).ScriptRollout
	v.Changed = stored == nil || !equality.Semantic.DeepEqual(rollout.WithoutCounts(*stored), rollout.WithoutCounts(v.Next))
	if v.Analyzed = result.Analyze.ID != "" && result.Waiting != ""; !v.Changed { // Otherwise it is not stored yet what the checks are about.
		v.After = variant.Earlier(v.After, r.analyze(s, s.ofMembers(&v.Next), object, result.Analyze, v.Next))
	}
	return v
}

// ofMembers returns the instance that syncs the parents that have the edit.
func (s *runtimeState) ofMembers(state *rollout.State) *instance {
	if state.UpdatedEdit != nil && s.updated != nil {
		return s.updated
	}
	return cmp.Or(s.running, s.next)
}

// setPin sets what the spec pins, which is nothing to a definition without scripts.
func (s *runtimeState) setPin(object *unstructured.Unstructured, v *rollout.Progress, in *rollout.Input) {
	stable := cmp.Or(s.running, s.next)
	for _, i := range []*instance{s.updated, stable} { // What is wrong with the stable one comes first.
		if i == nil {
			continue
		}
		if problem := i.hooks.Problem(); problem != "" {
			v.Problem = problem
		}
	}
	switch v.Pinned = s.rollout != nil && s.rollout.Revision != ""; {
	case !v.Pinned:
	case stable.hooks.Tree == nil:
		v.Pinned, in.Spec = false, s.rollout.DeepCopy() // A copy, as the pin counts again once the definition has scripts.
		in.Spec.Revision = ""
	default:
		in.Pinned = stable.findPin(object, v, scripts.RevisionID(s.rollout.Revision))
	}
}

// setTarget sets the edit that is to serve, as far as it is known. It returns for how long no other edit begins.
func (s *runtimeState) setTarget(driver *instance, in *rollout.Input) (unsettled time.Duration) {
	tree, other := driver.hooks.Tree, s.isOther(driver, &in.State)
	edit, current := driver.guard.edit(""), scripts.RevisionID("")
	if tree != nil && tree.Current() != nil {
		current = tree.Current().ID
		edit.Revision = string(current)
	}
	if s.updated != nil {
		in.UpdatedSpec = s.updated.plan.StableSpec()
	}
	unknown := s.newest == nil && edit.Name() == in.State.StableRevision // The spec that is to come may be the one that was taken back.
	// An edit is no target before its scripts have loaded and its caches are synced: the parents of its first step would not be synced.
	if tree != nil && current == "" || other && (!driver.ready() || !driver.synced.Load()) || unknown && s.running != nil {
		return 0
	}
	in.Target, in.TargetSpec = edit.Name(), driver.plan.StableSpec()
	if !s.rollsSpecs(&in.State) {
		in.TargetSpec = nil
	}
	if other {
		in.Target, in.TargetEdit = edit.ID(rollout.Edit{SpecHash: s.stableHash(&in.State)}), (*v1alpha1.GuardedEdit)(&edit)
	}
	var sources []scripts.Object
	if tree != nil {
		sources = tree.Objects()
		loaded := tree.State()
		in.LetThrough = loaded.Approved != "" && loaded.Loaded == current
		in.Unarchived = !tree.IsArchived(current, s.stableScripts(&in.State))
	}
	in.Approved = rollout.ApprovalOf(rollout.ApprovalsOf(s.object, s.rollout, sources), scripts.RevisionID(in.Target)) != nil
	// A spec that the status has no room for is like scripts without an archive: the next process could not go back to it.
	in.Unarchived = in.Unarchived || other && (in.TargetSpec == nil || in.State.StableSpec == nil)
	// Only a new edit may be outdated. What serves already, or is being rolled out, goes on, whatever the sources contain by now.
	if in.Target != in.State.StableRevision && in.Target != in.State.UpdatedRevision && in.Pinned == "" {
		unsettled = s.unsettledFor(driver, in.Now)
		waits := driver == s.running && (s.next != nil || s.newest == nil)
		in.Outdated = unsettled > 0 || waits || tree != nil && !tree.SourcesMatchCurrent()
	}
	return unsettled
}

// awaitsSpec reports whether the spec of an edit that is being rolled out is about to be had, so that nothing is decided yet.
func (s *runtimeState) awaitsSpec(state *rollout.State) bool {
	return state.UpdatedEdit != nil && s.updated == nil && (s.newest == nil || s.newest.guard.spec == state.UpdatedEdit.SpecHash)
}

// refreshSpec notes in the next state how the spec is written that goes on serving.
func (s *runtimeState) refreshSpec(next, state *rollout.State) {
	if s.running != nil && next.StableRevision == state.StableRevision && next.StableSpec != nil && !s.isOther(s.running, next) {
		next.StableSpec = s.running.plan.StableSpec()
	}
}

// unarchivedOf returns why an edit waits for the archive once that, or the status, can't have it, or empty.
func (i *instance) unarchivedOf(v *rollout.Progress, in *rollout.Input) string {
	why := ""
	if tree := i.hooks.Tree; tree != nil {
		why = tree.State().NotArchived
	}
	if in.TargetEdit != nil && (in.TargetSpec == nil || in.State.StableSpec == nil) {
		why = fmt.Sprintf("its spec, or the one that serves, has more than %d KiB: let scripts come from a ConfigMap", plan.MaxStableSpec>>10)
	}
	if why == "" {
		return ""
	}
	return fmt.Sprintf("%s is not rolled out before it is archived: %s", v.NameOf(in.Target), why)
}

// findPin returns the whole ID of the revision that the spec pins, or "" and notes why it can't be had, unless it is being loaded.
func (i *instance) findPin(object *unstructured.Unstructured, v *rollout.Progress, id scripts.RevisionID) string {
	pinned, err := i.hooks.Tree.Revision(id)
	switch {
	case err == nil:
		return string(pinned.ID)
	case !errors.Is(err, scripts.ErrLoading):
		v.Problem = fmt.Sprintf("spec.scriptRollout.revision: %v\n%s; pin another one, or take the pin away: %s",
			err, rollout.StillServingText(v.Serving), rollout.UnpinCommand(object))
	}
	return ""
}

// rolloutParents returns how all parents are, each as the instance knows it that syncs it.
func (r *Reconciler) rolloutParents(s *runtimeState, state rollout.State) []rollout.Parent {
	var all []rollout.Parent
	stable := rollout.Edit{SpecHash: s.stableHash(&state)}
	if stable.SpecHash == "" {
		stable.SpecHash = s.running.guard.spec
	}
	now := s.running.router.split
	add := func(object *unstructured.Unstructured, last parent.LastSync) {
		side := now.of(object)
		p := rollout.Parent{
			Member: rollout.MemberOf(object), Name: apply.KeyOf(object).String(), Message: last.Message,
			Children: func() int { return len(cmp.Or(side, s.running).reconciler.LastingChildren(object)) },
		}
		switch {
		// A parent that an instance does not manage is never synced. It counts as if it had been, or a step would wait for it until its
		// deadline.
		case last.Result != parent.ResultNone:
			p.Revision = rollout.Edit{SpecHash: last.Spec, Revision: last.Revision}.ID(stable)
		case side == now.stable && !side.reconciler.Manages(object):
			p.Revision, p.Health = state.StableRevision, rollout.Well
		case side != nil && side == now.updated && !side.reconciler.Manages(object): // It has nothing to go wrong with.
			p.Revision, p.Health = state.UpdatedRevision, rollout.Well
		}
		switch last.Result {
		case parent.ResultSettled:
			p.Health = rollout.Well
		case parent.ResultMoving:
			p.Health = rollout.Moving
		case parent.ResultUnready:
			p.Health = rollout.Unready
		case parent.ResultFailed:
			p.Health = rollout.Failing
			if p.Revision == state.UpdatedRevision && !slices.Contains(state.FailingParents, int64(p.Hash)) {
				p.Health = r.healthOfFailing(s, s.running, object, state)
			}
		}
		all = append(all, p)
	}
	s.running.reconciler.EachParent(func(object *unstructured.Unstructured, last parent.LastSync) { add(object, last) })
	if now.updated != nil {
		now.updated.reconciler.EachParent(func(object *unstructured.Unstructured, last parent.LastSync) {
			if !s.running.reconciler.Manages(object) {
				add(object, last)
			}
		})
	}
	if state.UpdatedRevision == "" {
		s.stable.health = nil
	}
	return all
}

// healthByParent is what is known of parents that fail with an edit: whether they would with the stable revision.
type healthByParent map[types.UID]chan rollout.Health

// healthOfFailing returns how a parent is that fails with the edit. If it would fail with the stable revision too, nothing is wrong with
// the edit: that is asked of a preview, once, in the background.
func (r *Reconciler) healthOfFailing(
	s *runtimeState, i *instance, object *unstructured.Unstructured, state rollout.State,
) rollout.Health {
	if r.config.Previewer == nil {
		return rollout.Failing
	}
	if s.stable.edit != state.UpdatedRevision {
		s.stable.health, s.stable.edit = healthByParent{}, state.UpdatedRevision
	}
	answer, asked := s.stable.health[object.GetUID()]
	if !asked {
		answer = make(chan rollout.Health, 1)
		if s.stable.health == nil {
			s.stable.health = healthByParent{}
		}
		s.stable.health[object.GetUID()] = answer
		var stable *scripts.Revision
		var err error
		if id := s.stableScripts(&state); id != "" {
			stable, err = i.hooks.Tree.Revision(id)
		}
		if programs := i.hooks.Previewable(i.plan, stable); err != nil || len(programs) == 0 {
			answer <- rollout.Failing
		} else {
			go r.askStable(i, object, stable, programs, answer)
		}
	}
	select {
	case health := <-answer:
		answer <- health // The next decision reads it again.
		return health
	default: // askStable calls changed when it ends, and so another decision. Until then the step only waits.
		return rollout.Moving
	}
}

// askStable answers how a parent is that fails with the edit. stable is nil without scripts.
func (r *Reconciler) askStable(
	i *instance, object *unstructured.Unstructured, stable *scripts.Revision, programs map[string]engines.Program,
	answer chan<- rollout.Health,
) {
	health := rollout.Failing
	defer func() {
		answer <- health
		i.changed()
	}()
	ctx, cancel := engines.WithBudget(context.Background(), previewSync, context.DeadlineExceeded)
	defer cancel()
	subject := PreviewSubject{
		Plan: i.plan, Scripts: programs, Parents: func() *samples.Sampler { return i.reconciler.SamplerOf(object) },
		TrustDomain: i.plan.Config.Definition,
	}
	if stable != nil {
		subject.Revision, subject.ProgramsOf, subject.TrustDomain = stable.ID, i.hooks.ScriptsBeside(stable), stable.TrustDomain()
	}
	if r.config.Previewer.HasFailingParent(ctx, subject) {
		health = rollout.Well
	}
}
