package definition

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// assignment is which programs each parent gets while a rollout decides that. It never changes.
type assignment struct {
	rollout.Assignment
	stable, updated parent.Programs
	// loading is set while one of the revisions is being loaded, and problem why one can't be had, or empty.
	loading bool
	problem string
}

func (a *assignment) programsFor(object *unstructured.Unstructured) parent.Programs {
	if a.HasUpdated(rollout.MemberOf(object)) {
		return a.updated
	}
	return a.stable
}

// programsFor returns the present programs for a parent, all of one revision.
func (h *hooks) programsFor(object *unstructured.Unstructured) parent.Programs {
	if a := h.assigned.Load(); a != nil {
		return a.programsFor(object)
	}
	return h.programs()
}

// storedRollout returns the state of a rollout that a definition has. What serves is the stable revision of one that had no steps before.
func storedRollout(object *unstructured.Unstructured) rollout.State {
	stored := v1alpha1.StoredStatus(object)
	var state rollout.State
	if stored.ScriptRollout != nil {
		state = *stored.ScriptRollout
	}
	if state.StableRevision == "" && len(stored.ScriptRevisionHash) > len(stored.ScriptRevision) {
		state.StableRevision = string(servedRevision(stored))
	}
	return state
}

// isManaged reports whether a rollout decides what an instance serves.
func (s *runtimeState) isManaged(i *instance, object *unstructured.Unstructured) bool {
	stored := v1alpha1.StoredStatus(object).ScriptRollout
	return rollout.IsManaged(s.rollout, stored) && (i.hooks.tree != nil || s.rollsSpecs(stored))
}

// setRollout notes how the newest spec rolls out edits of scripts, and its limits, also if the rest of it is refused: a pause or a pin in an
// emergency must act.
func (s *runtimeState) setRollout(object *unstructured.Unstructured, now time.Time) {
	set, err := plan.ScriptRollout(object)
	s.limits.Store(ptr.Deref(set, v1alpha1.ScriptRollout{}).Preview)
	if err != nil { // The condition Accepted has the reason.
		return
	}
	if s.specVersion.uid != "" && !equality.Semantic.DeepEqual(s.rollout, set) {
		s.rolloutEditedAt = now
	}
	s.rollout = set
}

// retain notes which revisions the definition's spec and status need, for the archive. next is the status that is about to be written, or
// was written last, and may be nil: what is not read back yet is in use, too.
func (s *runtimeState) retain(object *unstructured.Unstructured, next *v1alpha1.DefinitionStatus) {
	pinned, _, _ := unstructured.NestedString(object.Object, "spec", "scriptRollout", "revision")
	named := append(namedRevisions(v1alpha1.StoredStatus(object)), pinned)
	if next != nil {
		named = append(named, namedRevisions(*next)...)
	}
	var retained []scripts.RevisionID
	for _, id := range named {
		if id := scripts.RevisionID(id); id != "" && !slices.Contains(retained, id) {
			retained = append(retained, id)
		}
	}
	s.retained.Store(&retained)
}

// namedRevisions returns the revisions that a status names as in use, or as what a rollback goes back to. Some may be empty.
func namedRevisions(status v1alpha1.DefinitionStatus) []string {
	named := []string{string(servedRevision(status)), status.PreviousScriptRevisionHash}
	if state := status.ScriptRollout; state != nil {
		named = append(named, state.StableRevision, state.UpdatedRevision)
		if state.UpdatedEdit != nil {
			named = append(named, state.UpdatedEdit.Revision)
		}
	}
	if guard := status.DeletionGuard; guard != nil { // It goes back to what has settled, over several edits.
		named = append(named, guard.Settled.Revision, guard.Edit.Revision)
	}
	return named
}

// assign makes the instances do what is stored in the definition's status, and enqueues the parents that change sides.
func (r *Reconciler) assign(object *unstructured.Unstructured, s *runtimeState) {
	state := s.rolloutState(object)
	for _, i := range s.all() {
		managed := s.isManaged(i, object)
		i.reconciler.NoteSyncs(managed)
		if i.hooks.tree != nil {
			r.assignScripts(s, i, &state, managed)
		}
	}
	r.assignSides(object, s, &state)
}

// assignScripts makes an instance give parents the scripts that a state says, and enqueues the parents that get others.
func (r *Reconciler) assignScripts(s *runtimeState, i *instance, state *rollout.State, managed bool) {
	before := i.hooks.assigned.Load()
	of := rollout.AssignmentOf(s.rollout, state)
	switch edit := state.UpdatedEdit; {
	case managed && edit != nil && i.guard.spec == edit.SpecHash:
		of = rollout.Assignment{Stable: edit.Revision}
	case managed && i != s.next && s.isOther(i, state): // Another one serves already, and takes its place in a moment.
		return
	case managed && s.isOther(i, state): // It syncs no parent yet.
		managed = false
	case edit != nil:
		of = rollout.Assignment{Stable: of.Stable}
	}
	i.hooks.unassigned = managed && (of.Stable == "" || i.hooks.isUnfit(of.Stable))
	if !managed || i.hooks.unassigned {
		i.hooks.assigned.Store(nil) // Of a running instance, all parents are synced: its inputs are others.
		return
	}
	now := i.hooks.assignmentOf(of, before)
	i.hooks.assigned.Store(now)
	if (i == s.running || i.joined) && before != nil && now != before {
		i.reconciler.ResyncSome(s.running.queue, r.config.ReloadSpread, func(object *unstructured.Unstructured) bool {
			return now.differs(before, object)
		})
		r.config.ScriptMetrics.Serves(i.plan.Key().String(), s.running.hooks.revision())
	}
}

// isUnfit reports whether a revision can't serve the definition, as it has scripts for other hooks.
func (h *hooks) isUnfit(id string) bool {
	if id == "" {
		return false
	}
	_, err := h.tree.Revision(scripts.RevisionID(id))
	return errors.Is(err, scripts.ErrOtherHooks)
}

// differs reports whether a parent gets other programs.
func (a *assignment) differs(before *assignment, object *unstructured.Unstructured) bool {
	now, then := a.programsFor(object), before.programsFor(object)
	return now.Revision != then.Revision || (a.problem == "") != (before.problem == "") || a.loading != before.loading
}

// assignmentOf returns an assignment with its programs: before, if it has these already.
func (h *hooks) assignmentOf(of rollout.Assignment, before *assignment) *assignment {
	a := &assignment{Assignment: of}
	a.stable = h.assignedPrograms(a, before, of.Stable)
	if of.Updated != "" {
		a.updated = h.updatedPrograms(a, before, of.Updated)
	}
	if before != nil && before.Equal(of) && before.loading == a.loading && before.problem == a.problem {
		return before
	}
	return a
}

// updatedPrograms returns the programs of the updated revision. If that is in the archive no more, the stable revision stands in for it:
// until the sources load, there is nothing else to sync its parents by.
func (h *hooks) updatedPrograms(a, before *assignment, id string) parent.Programs {
	_, err := h.tree.Revision(scripts.RevisionID(id))
	if !errors.Is(err, archive.ErrNone) || a.problem != "" || a.loading {
		return h.assignedPrograms(a, before, id)
	}
	a.problem = fmt.Sprintf("%v\nrevision %s serves its parents in its place", err, scripts.RevisionID(a.stable.Revision).Short())
	return a.stable
}

// assignedPrograms returns the programs of a revision. If it can't be had, they fail with the reason, and parents keep their children.
func (h *hooks) assignedPrograms(a, before *assignment, id string) parent.Programs {
	revision, err := h.tree.Revision(scripts.RevisionID(id))
	switch {
	case err == nil:
		if before != nil {
			for _, known := range []parent.Programs{before.stable, before.updated} {
				if known.Revision == string(revision.ID) && before.problem == "" && !before.loading {
					return known
				}
			}
		}
		return parent.Programs{Revision: string(revision.ID), ByHook: h.byHook(revision.Programs)}
	case errors.Is(err, scripts.ErrLoading):
		a.loading = true
	default:
		a.problem = err.Error()
	}
	missing := map[string]engines.Program{}
	for _, name := range h.scripts {
		missing[name] = unavailable{err: err}
	}
	return parent.Programs{Revision: id, ByHook: h.byHook(missing)}
}

// unavailable is a script of a revision that can't be had.
type unavailable struct {
	engines.ProgramBase
	err error
}

// Run returns the reason.
func (u unavailable) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, &engines.Error{Kind: engines.Failed, Message: u.err.Error(), Err: u.err}
}

// servingRevision returns the revision that an edit is compared with: the stable one, if there is one.
func (h *hooks) servingRevision() *scripts.Revision {
	if a := h.assigned.Load(); a != nil {
		if stable, err := h.tree.Revision(scripts.RevisionID(a.Stable)); err == nil {
			return stable
		}
	}
	return h.tree.Current()
}
