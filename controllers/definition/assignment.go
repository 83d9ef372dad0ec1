package definition

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// isManaged reports whether a rollout decides what an instance serves.
func (s *runtimeState) isManaged(i *instance, object *unstructured.Unstructured) bool {
	stored := v1alpha1.StoredStatus(object).ScriptRollout
	if s.shards.follows && i.hooks.Tree != nil && rollout.StoredState(object).StableRevision != "" {
		return true
	}
	return rollout.IsManaged(s.rollout, stored) && (i.hooks.Tree != nil || s.rollsSpecs(stored))
}

// setRollout notes how the newest spec rolls out edits of scripts, and its limits, also if the rest of it is refused: a pause or a pin in
// an emergency must act.
func (s *runtimeState) setRollout(object *unstructured.Unstructured, now time.Time) {
	set, err := plan.ScriptRollout(object)
	s.limits.edits.Store(ptr.Deref(set, v1alpha1.ScriptRollout{}).Preview)
	if err != nil { // The condition Accepted has the reason.
		return
	}
	if s.writes.spec.uid != "" && !equality.Semantic.DeepEqual(s.rollout, set) {
		s.rolloutEditedAt = now
	}
	s.rollout = set
}

// retain notes which revisions the definition's spec and status need, for the archive. next is the status that is about to be written, or
// was written last, and may be nil: what is not read back yet is in use, too.
func (s *runtimeState) retain(object *unstructured.Unstructured, next *v1alpha1.DefinitionStatus) {
	pinned, _, _ := unstructured.NestedString(object.Object, "spec", "scriptRollout", "revision")
	named := append(rollout.NamedRevisions(v1alpha1.StoredStatus(object)), pinned)
	if next != nil {
		named = append(named, rollout.NamedRevisions(*next)...)
	}
	var retained []scripts.RevisionID
	for _, id := range named {
		if id := scripts.RevisionID(id); id != "" && !slices.Contains(retained, id) {
			retained = append(retained, id)
		}
	}
	s.retained.Store(&retained)
}

// assign makes the instances do what is stored in the definition's status, and enqueues the parents that change sides.
func (r *Reconciler) assign(object *unstructured.Unstructured, s *runtimeState) {
	state := s.rolloutState(object)
	for _, i := range s.all() {
		managed := s.isManaged(i, object)
		i.reconciler.KeepLastSyncs(managed)
		if i.hooks.Tree != nil {
			r.assignScripts(s, i, &state, managed)
		}
	}
	r.assignSides(object, s, &state)
}

// assignScripts makes an instance give parents the scripts that a state says, and enqueues the parents that get others.
func (r *Reconciler) assignScripts(s *runtimeState, i *instance, state *rollout.State, managed bool) {
	of := rollout.AssignmentOf(s.rollout, state)
	switch edit := state.UpdatedEdit; {
	// While an edit of the definition is rolled out, the router decides which instance syncs a parent. Each instance then has one revision of
	// the scripts for all of its parents.
	case managed && edit != nil && i.guard.spec == edit.SpecHash:
		of = rollout.Assignment{Stable: edit.Revision}
	case managed && i != s.next && s.isOther(i, state): // Another one serves already, and takes its place in a moment.
		return
	case managed && s.isOther(i, state): // It syncs no parent yet.
		managed = false
	case edit != nil:
		of = rollout.Assignment{Stable: of.Stable}
	}
	if moves := i.hooks.Assign(of, managed); moves != nil && (i == s.running || i.joined) {
		i.reconciler.ResyncSelected(s.running.queue, r.config.ReloadSpread, moves)
		r.config.ScriptMetrics.SetServing(i.plan.Key().String(), s.running.hooks.Revision())
	}
}
