package definition

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/schemacheck"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
	"github.com/libretto-k8s/libretto/scripts"
)

// runtimeState is the state of one definition in this process. Only the reconcile of that
// definition uses it, and there is one at a time.
type runtimeState struct {
	instances
	shards shards
	// planned is set once it has been planned. The Reconciler's lock guards it.
	planned bool
	// retiring instances have been replaced, but some parents still have their finalizer.
	retiring []retiring
	standing standingWarnings
	// lastEvents is the content of the last events, so that none is sent twice.
	lastEvents lastEvents
	writes     statusWrites
	// status is the last status of this host, or nil. The API server may have dropped fields
	// that the schema does not have.
	status *v1alpha1.DefinitionStatus
	// object is the last version of the definition, for events after its deletion.
	object *unstructured.Unstructured
	limits deletionLimits
	// rollout is spec.scriptRollout of the newest spec in which that is valid, for all instances, and rolloutEditedAt when it was seen to
	// change.
	rollout         *v1alpha1.ScriptRollout
	rolloutEditedAt time.Time
	// retained are the revisions that the stored rollout needs.
	retained atomic.Pointer[[]scripts.RevisionID]
	stable   stableHealth
	// guard bounds what edits delete. It is nil before the first instance.
	guard    *rollout.Guard
	approved approvedBy
	// rights are what the account of the newest spec lacks, or nil if it has none.
	rights *authorization
	// reviewedIn are the namespaces in which the account of the newest spec needs rights, or nil if it names none. Any goroutine may read it.
	reviewedIn atomic.Pointer[sets.Set[string]]
	// level is the verbosity of what is logged about the definition, as its annotation says.
	level verbosity.Level
	// testsFailed reports whether tests hold the newest scripts back. Any goroutine may read it.
	testsFailed atomic.Bool
}

// standingWarnings are those that a change has caused, and that stay until another one.
type standingWarnings struct {
	// removed are about resources that the spec before the running one had.
	removed []plan.Warning
	schemas schemacheck.State
}

// statusWrites are when what is in the status was seen or written, so that a burst of changes costs one write.
type statusWrites struct {
	// spec is the last one, first seen at specSeenAt.
	spec       specVersion
	specSeenAt time.Time
	// parentsAt is when a status was last written that says something else of parents than the one before.
	parentsAt time.Time
}

// deletionLimits bound what is deleted.
type deletionLimits struct {
	// of is the definition that the guard counts for: of another one of the same name it knows nothing.
	of types.UID
	// edits are those of the newest spec for edits, and always those that hold without one. Any goroutine may read them.
	edits  atomic.Pointer[v1alpha1.ScriptPreview]
	always atomic.Pointer[v1alpha1.DeletionGuard]
}

// stableHealth is what is known of the parents that fail with an edit.
type stableHealth struct {
	health healthByParent
	edit   string
}

// approvedBy is what is known of approvals.
type approvedBy struct {
	// by wrote the definition's annotation that approves a revision, and announced is the one with the last event about an approval.
	by        approver
	announced string
}

// retainedRevisions returns the revisions that the stored rollout needs. Any goroutine may call it.
func (s *runtimeState) retainedRevisions() []scripts.RevisionID {
	if known := s.retained.Load(); known != nil {
		return *known
	}
	return nil
}

// stateFor returns the state of a definition, which it creates if there is none.
func (r *Reconciler) stateFor(key controller.Key) *runtimeState {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.states[key]
	if s == nil {
		s = &runtimeState{}
		if r.isShared(key) {
			s.shards.here, s.shards.follows = r.config.Shard.Range, r.follows(key)
		}
		r.states[key] = s
	}
	return s
}

// onRefused closes the next instance of a spec that is now refused. It stops the running
// instance if one of its resources is no longer served.
func (r *Reconciler) onRefused(key controller.Key, s *runtimeState) {
	s.dropNext()
	if s.running == nil {
		return
	}
	for _, resource := range s.running.plan.Resources() {
		if _, err := r.planner.Find(resource.GroupVersion().String(), resource.GroupVersionResource.Resource); err != nil {
			r.stop(key, s)
			return
		}
	}
}

// close closes all instances, of which none runs, without removing finalizers.
func (s *runtimeState) close() {
	s.abandonRetiring()
	for _, i := range s.all() {
		i.close()
	}
}

// dropNext closes the next instance, if there is one.
func (s *runtimeState) dropNext() {
	if s.next.close(); s.newest == s.next {
		s.newest = nil
	}
	s.next = nil
}

// prepare builds an instance of the plan, unless there is one already.
func (r *Reconciler) prepare(s *runtimeState, p *plan.Plan) *plan.Refusal {
	for _, i := range s.all() {
		if !i.plan.Equal(p) {
			continue
		}
		if i != s.next {
			s.dropNext()
		}
		s.newest, i.plan.Generation = i, p.Generation
		return nil
	}
	s.dropNext()
	stored := v1alpha1.StoredStatus(s.object)
	before := hooks.Predecessor{Resumed: stored.Parents != nil && stored.ObservedGeneration == p.Generation}
	if s.running == nil { // Otherwise the earlier spec keeps running.
		before.Served, before.Held = rollout.ServedRevision(stored), rollout.HeldRevision(stored)
		if state := stored.ScriptRollout; state != nil && state.UpdatedRevision != "" && state.UpdatedEdit == nil {
			before.Served, before.Stable = scripts.RevisionID(state.UpdatedRevision), before.Served // It has been previewed.
		}
	}
	before.AwaitEdit = awaitsEdit(s.running, p)
	if state := stored.ScriptRollout; s.running != nil && state != nil && state.UpdatedEdit != nil {
		hash, err := p.SpecHash()
		if before.InSteps = err == nil && hash == state.UpdatedEdit.SpecHash; before.InSteps {
			before.Served = scripts.RevisionID(state.UpdatedEdit.Revision)
		}
	}
	next, err := r.build(s, p, before)
	if err != nil {
		return &plan.Refusal{Reason: plan.ReasonInvalid, Err: err}
	}
	s.next, s.newest = next, next
	return nil
}

// advance starts the next instance once its scripts and credentials are loaded. It resyncs all
// parents when the scripts, credentials or schemas of the running instance have changed.
func (r *Reconciler) advance(key controller.Key, object *unstructured.Unstructured, s *runtimeState) {
	state := s.rolloutState(object)
	switch other := s.running != nil && s.next != nil && s.isManaged(s.next, object) && s.isOther(s.next, &state); {
	case !s.next.ready(), s.running == nil && !r.known.Load():
	case other: // It is rolled out.
		s.next.startSync()
	case s.updated == nil: // Otherwise that is being rolled out.
		r.assign(object, s) // Its sources may have loaded what is in the archive no more.
		s.setRemovedWarnings(s.next)
		s.retiring = append(s.retiring, newRetiring(s.running, s.next)...)
		if s.running != nil {
			s.next.reconciler.TakeOver(s.running.reconciler)
			s.next.decide() // Its scripts were previewed beside those that have served.
		}
		s.running, s.next = s.next, nil
		s.serving.Store(s.running)
		r.assignSides(object, s, &state) // No parent is synced by another spec than it has.
		r.event(object, corev1.EventTypeNormal, "Starting", "Starting controller: "+key.Name)
		s.running.startedAt, s.running.lastInputs = r.config.Environment.Clock.Now(), s.running.inputs()
		r.config.ScriptMetrics.SetServing(key.String(), s.running.hooks.Revision())
		r.config.Host.Start(key.String(), s.running.run)
		r.event(object, corev1.EventTypeNormal, "Started", "Started controller: "+key.Name)
		r.config.Environment.Log.Info("controller started", "definition", nameOf(object), "generation", s.running.plan.Generation)
	}
	for _, i := range s.all() {
		if i == s.running && !i.hooks.IsUndecided() {
			i.decide()
		}
		now := i.inputs()
		if i != s.running && !i.joined || now == i.lastInputs {
			continue
		}
		i.lastInputs = now
		r.config.ScriptMetrics.SetServing(key.String(), s.running.hooks.Revision())
		i.reconciler.Resync(s.running.queue, r.config.ReloadSpread)
	}
}

// remove stops the instance of a definition that is deleted (then object is nil) or whose
// labels no longer match, which it reports in the status. It removes the finalizers of a deleted
// definition from its parents.
func (r *Reconciler) remove(ctx context.Context, key controller.Key, object *unstructured.Unstructured) error {
	r.mu.Lock()
	s := r.states[key]
	r.mu.Unlock()
	if s == nil {
		return nil
	}
	s.dropNext()
	r.config.Host.Stop(key.String())
	if object == nil {
		if err := errors.Join(r.closeRetiring(ctx, s), r.release(ctx, s), r.forgetReports(ctx, key)); err != nil {
			return fmt.Errorf("%s: taking its finalizers off: %w", key, err)
		}
	}
	s.abandonRetiring()
	r.stop(key, s)
	if object != nil && !s.shards.follows {
		if err := r.writeNotHosted(ctx, object, s); err != nil {
			return err
		}
	}
	r.mu.Lock()
	delete(r.states, key)
	r.mu.Unlock()
	r.status.Forget(key)
	r.config.Metrics.Forget(loopName(key))
	r.config.Environment.Metrics.Forget(key.String())
	if answers := r.config.Environment.Answers; answers != nil {
		answers.DeleteOwner(key.String())
	}
	r.config.Failover.Forget(key.String())
	r.config.ScriptMetrics.Forget(key.String())
	r.config.DefinitionMetrics.Forget(key)
	return nil
}

// stop stops the running instance.
func (r *Reconciler) stop(key controller.Key, s *runtimeState) {
	if s.running == nil {
		return
	}
	r.event(s.object, corev1.EventTypeNormal, "Stopping", "Stopping controller: "+key.Name)
	r.config.Host.Stop(key.String())
	s.serving.Store(nil)
	s.running.close()
	s.updated.close()
	s.running, s.updated, s.newest = nil, nil, s.next
	r.config.ScriptMetrics.SetServing(key.String(), "")
	r.event(s.object, corev1.EventTypeNormal, "Stopped", "Stopped controller: "+key.Name)
	r.config.Environment.Log.Info("controller stopped", "definition", nameOf(s.object))
}
