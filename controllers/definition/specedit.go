package definition

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/scripts"
)

// instances are those of one definition.
type instances struct {
	running *instance                // syncs parents
	serving atomic.Pointer[instance] // is running, for any goroutine
	// updated syncs the parents that have an edit of the definition while that is rolled out.
	updated *instance
	next    *instance // is of a newer spec and waits for its scripts, or to be rolled out
	// newest is the one of these that is of the newest spec that was accepted. It is nil if there is none yet.
	newest *instance
	// hashed is the last stable spec with its hash.
	hashed struct{ of, hash string }
}

// all returns those that there are.
func (s *instances) all() []*instance {
	var all []*instance
	for _, i := range []*instance{s.running, s.updated, s.next} {
		if i != nil {
			all = append(all, i)
		}
	}
	return all
}

// latest returns the one of the newest spec, or another one that there is, or nil.
func (s *instances) latest() *instance {
	return cmp.Or(s.newest, s.next, s.updated, s.running)
}

// editIDs returns a function for what an approval names that lets a revision of the scripts take over: the revision, if the spec is the one
// that serves, or that served when the previous process ended. The function may be called by several goroutines.
func (s *runtimeState) editIDs(edited guarded) func(scripts.RevisionID) scripts.RevisionID {
	return func(revision scripts.RevisionID) scripts.RevisionID {
		served := s.guard.Record().Edit
		if serving := s.serving.Load(); serving != nil {
			served.SpecHash = serving.guard.spec
		}
		return scripts.RevisionID(edited.edit(string(revision)).ID(served))
	}
}

// editID returns what an approval names that lets the instance take over with a revision of its scripts, or with the webhooks of an ID.
func (i *instance) editID(revision scripts.RevisionID) scripts.RevisionID {
	if i == nil || i.hooks.Tree == nil {
		return revision
	}
	return i.hooks.Tree.EditID(revision)
}

// pendingStableSpec returns the spec that serves if that is not the newest one, so that it goes on after a restart, or nil.
func (s *runtimeState) pendingStableSpec() *v1alpha1.StableSpec {
	if s.running == nil || s.running.plan.Generation == s.object.GetGeneration() {
		return nil
	}
	now, err := plan.SpecHash(jsonvalue.ObjectIn(s.object.Object, "spec")) // Also one that is refused.
	if err != nil || now == s.running.guard.spec {
		return nil
	}
	return s.running.plan.StableSpec()
}

// stableHash returns the hash of the spec that a state says serves, or empty if edits of the definition are not rolled out.
func (s *runtimeState) stableHash(state *rollout.State) string {
	switch {
	case !s.rollsSpecs(state):
		return ""
	case state.StableSpec == nil && s.running != nil: // It is too long.
		return s.running.guard.spec
	case state.StableSpec == nil:
		return ""
	case s.hashed.of != state.StableSpec.Spec:
		s.hashed.of, s.hashed.hash = state.StableSpec.Spec, plan.StableHash(state.StableSpec)
	}
	return s.hashed.hash
}

// stableScripts returns the revision of the scripts that a state says serves, or empty if no script does.
func (s *runtimeState) stableScripts(state *rollout.State) scripts.RevisionID {
	if hash := s.stableHash(state); hash != "" && state.StableRevision == (rollout.Edit{SpecHash: hash}).Name() {
		return ""
	}
	return scripts.RevisionID(state.StableRevision)
}

// rollsSpecs reports whether edits of the definition are rolled out as those of scripts are.
func (s *runtimeState) rollsSpecs(state *rollout.State) bool {
	return state != nil && state.StableSpec != nil ||
		s.rollout != nil && (len(s.rollout.Steps) > 0 || ptr.Deref(s.rollout.Paused, false))
}

// rolloutState returns the state of the rollout as it is stored, with the spec that runs if none is.
func (s *runtimeState) rolloutState(object *unstructured.Unstructured) rollout.State {
	state := rollout.StoredState(object)
	// What served can't be had, and the newest spec took its place.
	if s.running != nil && s.running == s.newest && s.isOther(s.running, &state) {
		state.StableRevision, state.StableSpec, state.UpdatedRevision, state.UpdatedEdit = "", nil, "", nil
	}
	if s.running == nil || state.StableSpec != nil || !s.rollsSpecs(&state) {
		return state
	}
	if state.StableSpec = s.running.plan.StableSpec(); state.StableRevision == "" && s.running.hooks.Tree == nil {
		state.StableRevision = s.running.guard.edit("").Name()
	}
	return state
}

// isOther reports whether an instance has another spec than the one that a state says serves, but for how scripts are named.
func (s *runtimeState) isOther(i *instance, state *rollout.State) bool {
	stable := s.stableHash(state)
	return stable != "" && i.guard.spec != stable
}

// prepareStable builds an instance of the spec that served last, if the definition has another one by now and edits of it are rolled out.
// It reports whether that is to run first, and why it can't.
func (r *Reconciler) prepareStable(
	ctx context.Context, s *runtimeState, object *unstructured.Unstructured,
) (first bool, refusal *plan.Refusal) {
	state := rollout.StoredState(object)
	if s.running != nil || state.StableSpec == nil || !s.rollsSpecs(&state) {
		return false, nil
	}
	now, err := plan.SpecHash(jsonvalue.ObjectIn(object.Object, "spec"))
	if err == nil && now == s.stableHash(&state) {
		return false, nil
	}
	previous, err := plan.WithSpec(object, state.StableSpec)
	if err != nil {
		return true, &plan.Refusal{Reason: plan.ReasonInvalid, Err: err}
	}
	plan, refusal := r.plan(ctx, previous)
	switch {
	case refusal != nil && s.rollout == nil: // All parents are to get the present spec at once.
		return false, nil
	case refusal != nil:
		refusal.Err = fmt.Errorf("generation %d of the spec, which serves until the present one is rolled out, can't be had: %w\n"+
			"make it so again, or delete spec.scriptRollout to let the present spec serve all parents at once",
			state.StableSpec.Generation, refusal.Err)
		return true, refusal
	}
	refusal = r.prepare(s, plan)
	s.newest = nil
	return true, refusal
}

// prepareNext builds an instance of the newest spec, or of the one that served last, if need be. It returns why the newest is refused.
func (r *Reconciler) prepareNext(
	ctx context.Context, object *unstructured.Unstructured, s *runtimeState, p *plan.Plan, refusal *plan.Refusal,
) *plan.Refusal {
	if refusal != nil && refusal.Reason == reasonQuotaExceeded { // No earlier spec of it runs either.
		s.dropNext()
		if s.running != nil {
			r.stop(apply.KeyOf(object), s)
		}
		return refusal
	}
	if refusal == nil && s.shards.follows && !isDecided(object) {
		return nil
	}
	if refusal == nil && !s.shards.follows {
		refusal = r.finalizers.Include(ctx, p)
	}
	switch first, why := r.prepareStable(ctx, s, object); {
	case first && refusal == nil:
		return why
	case first:
	case refusal == nil:
		return r.prepare(s, p)
	default:
		r.onRefused(apply.KeyOf(object), s)
	}
	return refusal
}

// expire drops what the instances that sync parents remember for some minutes alone.
func (s *instances) expire() {
	for _, i := range s.all() {
		if i == s.running || i.joined {
			i.reconciler.ResourcesChanged()
			i.reconciler.Expire()
		}
	}
}

// assignSides makes the instances do what the status says of an edit of the definition.
func (r *Reconciler) assignSides(object *unstructured.Unstructured, s *runtimeState, state *rollout.State) {
	if s.running == nil {
		return
	}
	edit := state.UpdatedEdit
	isEdit := func(i *instance) bool { return i != nil && edit != nil && i.guard.spec == edit.SpecHash }
	switch {
	case isEdit(s.updated):
	case s.updated != nil && edit == nil && s.isOther(s.running, state) && !s.isOther(s.updated, state):
		r.promote(object, s)
		return
	case s.updated != nil:
		r.retireUpdated(s)
	}
	if s.updated == nil && isEdit(s.next) {
		s.updated, s.next = s.next, nil
		s.updated.startSync()
	}
	next := split{stable: s.running}
	if edit != nil {
		next.assignment = rollout.AssignmentOf(s.rollout, state)
		if s.updated != nil && s.updated.joins(s.running) {
			next.updated = s.updated
		}
	}
	r.divide(s, next)
}

// divide changes which instance syncs which parent, and enqueues the parents that change sides.
func (r *Reconciler) divide(s *runtimeState, next split) {
	moves := s.running.router.set(next)
	for _, i := range []*instance{next.stable, next.updated} {
		if i != nil {
			i.reconciler.ResyncSelected(s.running.queue, r.config.ReloadSpread, moves)
		}
	}
}

// startSync waits for the caches of an instance that is to share the parents with the one that runs, once.
func (i *instance) startSync() {
	if i.cancelSync != nil {
		return
	}
	var ctx context.Context
	ctx, i.cancelSync = context.WithCancel(context.Background())
	go func() {
		if i.reconciler.WaitForSync(ctx) {
			i.synced.Store(true)
			i.changed()
		}
	}()
}

// joins reports whether an instance syncs parents beside the one that runs, and makes it begin to if it can.
func (i *instance) joins(running *instance) bool {
	if i.joined || !i.ready() || !i.synced.Load() {
		return i.joined
	}
	i.reconciler.ShareMemory(running.reconciler)
	if err := i.reconciler.Watch(running.queue); err != nil {
		i.log.Error(err, "a cache has stopped, as this process does")
		return false
	}
	i.joined, i.lastInputs = true, i.inputs()
	return true
}

// promote makes the updated instance the one that runs, without a pause of its parents.
func (r *Reconciler) promote(object *unstructured.Unstructured, s *runtimeState) {
	previous, now := s.running, s.updated
	if !now.joins(previous) {
		return
	}
	s.setRemovedWarnings(now)
	now.queue, previous.queue = previous.queue, now.queue
	now.router, previous.router = previous.router, now.router
	now.startedAt = r.config.Environment.Clock.Now()
	previous.reconciler.MarkReplaced()
	s.running, s.updated = now, nil
	s.serving.Store(now)
	r.divide(s, split{stable: now})
	s.retiring = append(s.retiring, newRetiring(previous, now)...)
	r.config.ScriptMetrics.SetServing(apply.KeyOf(object).String(), now.hooks.Revision())
	r.config.Environment.Log.Info("an edit of the definition serves all parents",
		"definition", nameOf(object), "generation", now.plan.Generation)
}

// retireUpdated gives all parents back to the instance that runs.
func (r *Reconciler) retireUpdated(s *runtimeState) {
	r.divide(s, split{stable: s.running})
	s.retiring = append(s.retiring, newRetiring(s.updated, s.running)...)
	if s.newest == s.updated {
		s.newest = nil
	}
	s.updated = nil
	s.running.changed() // Another instance of it is prepared.
}
