package livedefinition

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Phases that are none of the status of a definition.
const (
	// PhaseNotReady is the phase while the newest scripts do not load, or their tests fail.
	PhaseNotReady = "NotReady"
	// PhaseRevisionUnavailable is the phase while a revision that is pinned, or that serves parents, can't be had.
	PhaseRevisionUnavailable = "RevisionUnavailable"
	// PhaseFailing is the phase if the revision serves all parents, and some fail with it.
	PhaseFailing = "Failing"
	// PhasePinned is the phase of a revision that does not begin because another one is pinned.
	PhasePinned = "Pinned"
	// PhaseUnknown is the phase if a revision serves all parents, and it is unknown whether the host has read what the sources contain.
	PhaseUnknown = "Unknown"
)

// Wanted is the edit that a status is about.
type Wanted struct {
	// Revision is its ID, in full or the first digits. It is empty if no hook is a script, or if Err says why it is not known.
	Revision string
	Err      error
}

// RolloutStatus is how far the newest scripts of a definition have come. Revisions are IDs in full, or the digits of them that are known.
type RolloutStatus struct {
	Definition string `json:"definition"`
	// Phase is that of status.scriptRollout, or one of the phases of this package. A definition without steps has one too.
	Phase string `json:"phase"`
	// Message is why the edit is where it is.
	Message string `json:"message,omitempty"`
	// Revision serves all parents, or those that do not have Updated yet.
	Revision string `json:"revision,omitempty"`
	Updated  string `json:"updatedRevision,omitempty"`
	Held     string `json:"heldRevision,omitempty"`
	Failed   string `json:"failedRevision,omitempty"`
	Approved string `json:"approvedRevision,omitempty"`
	// Pinned is spec.scriptRollout.revision.
	Pinned string `json:"pinnedRevision,omitempty"`
	// Wanted is the revision that the phase is about.
	Wanted string `json:"wantedRevision,omitempty"`
	// Step, Steps and StepParents are zero without steps. StepParents have or get the edit in this step.
	Step        int32 `json:"step,omitempty"`
	Steps       int32 `json:"steps,omitempty"`
	StepParents int32 `json:"stepParents"`
	counts
	// Next are the ways out.
	Next []string `json:"next,omitempty"`

	// unmatched is set if the rollout has stopped at a step whose selector matches no parent.
	unmatched bool
}

// counts are those of parents and children in a status. What is not known is absent.
type counts struct {
	// Parents is the number of all parents, and UpdatedParents of those that were synced by Updated while that is rolled out, else by
	// Revision.
	Parents          int32  `json:"parents"`
	UpdatedParents   *int32 `json:"updatedParents,omitempty"`
	SyncedParents    *int32 `json:"syncedParents,omitempty"`
	FailingParents   *int32 `json:"failingParents,omitempty"`
	WaitingParents   *int32 `json:"waitingParents,omitempty"`
	OutdatedChildren *int32 `json:"outdatedChildren,omitempty"`
}

// Ended reports whether nothing more happens before someone acts, and Complete whether the newest scripts serve all parents.
func (s *RolloutStatus) Ended() bool { return s.Complete() || s.Stopped() }

// Complete reports whether one revision serves all parents.
func (s *RolloutStatus) Complete() bool { return s.Phase == string(v1alpha1.ScriptsComplete) }

// Stopped reports whether the edit does not come to serve all parents well.
func (s *RolloutStatus) Stopped() bool {
	return s.unmatched || !s.Complete() && s.Phase != string(v1alpha1.ScriptsProgressing) && s.Phase != string(v1alpha1.ScriptsPaused)
}

// RolloutStatus returns how far an edit has come.
func (d *Definition) RolloutStatus(wanted Wanted) *RolloutStatus {
	r, status := d.rollout(), d.Status
	s := &RolloutStatus{
		Definition: d.String(), Revision: d.serving(), Updated: r.UpdatedRevision, Held: r.HeldRevision,
		Failed: r.FailedRevision, Approved: r.ApprovedRevision, Pinned: d.Spec.ScriptRollout.Revision, Wanted: wanted.Revision,
		Step: ptr.Deref(r.Step, 0), Steps: ptr.Deref(r.Steps, 0), StepParents: ptr.Deref(r.Parents, 0),
		counts: counts{
			ptr.Deref(status.Parents, 0), status.UpdatedParents, status.SyncedParents, status.FailingParents, status.WaitingParents,
			status.OutdatedChildren,
		},
	}
	if r.UpdatedRevision != "" {
		s.UpdatedParents = r.UpdatedParents
	}
	s.Phase, s.Message = d.phaseOf(wanted)
	s.unmatched = s.Phase == string(v1alpha1.ScriptsProgressing) && d.isSeen() && r.Message != ""
	s.Next = d.next(s)
	return s
}

// phaseOf returns the phase of an edit, and why it is that.
func (d *Definition) phaseOf(wanted Wanted) (phase, why string) {
	const complete, progressing, held, rolledBack = string(v1alpha1.ScriptsComplete), string(v1alpha1.ScriptsProgressing),
		string(v1alpha1.ScriptsHeld), string(v1alpha1.ScriptsRolledBack)
	r, pin, id := d.rollout(), d.Spec.ScriptRollout.Revision, wanted.Revision
	phase, why = d.phase()
	isIt := func(revisions ...string) bool {
		return slices.ContainsFunc(revisions, func(other string) bool { return sameRevision(id, other) })
	}
	serves, isHeld := isIt(d.serving(), d.servingEdit()), isIt(r.HeldRevision)
	switch {
	case !d.isSeen() || d.refusal() != "" || phase == PhaseRevisionUnavailable:
		return phase, why
	case phase == complete && errors.Is(wanted.Err, livecluster.ErrBroken):
		return progressing, fmt.Sprintf("the host has not read what the scripts hold: %v", wanted.Err)
	case phase == complete && wanted.Err != nil:
		return PhaseUnknown, fmt.Sprintf("whether the host has read what the scripts hold is not known: %v\n"+
			"name the revision with --revision, or its files with -f", wanted.Err)
	case d.editsSpec() && (id == "" || isIt(d.Status.ObservedScriptRevisionHash)): // The scripts may be those that serve.
		if phase == complete {
			return progressing, fmt.Sprintf("generation %d of the spec does not serve yet", d.Object.GetGeneration())
		}
		return phase, why
	case id == "":
	case isIt(r.FailedRevision) && !serves && !isIt(r.UpdatedRevision):
		return rolledBack, why
	case pin != "" && !isIt(pin):
		return PhasePinned, fmt.Sprintf("revision %s is pinned, so that no other one begins", shortID(pin))
	case !serves && !isHeld && !isIt(pin, r.UpdatedRevision, d.Status.ObservedScriptRevisionHash):
		return progressing, fmt.Sprintf("the host has not read revision %s yet: the scripts hold %s, as it read them last",
			shortID(id), orNone(d.Status.ObservedScriptRevisionHash))
	case serves && !isHeld && r.UpdatedRevision == "" &&
		(phase == held || phase == rolledBack || phase == PhaseNotReady):
		phase, why = complete, "" // What is held, or does not load, is another edit.
	case phase == held && !isHeld && !isIt(r.UpdatedRevision), phase == rolledBack, phase == complete && !serves:
		return progressing, fmt.Sprintf("the host has read revision %s, and decides about it", shortID(id))
	}
	if parents, whyNot := d.parentsPhase(); phase == complete && parents != complete {
		return parents, whyNot
	}
	return phase, why
}

// startingReasons are those of the condition Ready that pass by themselves.
var startingReasons = []string{"EarlierSpecServes", "Starting", "ScriptsNotReady", "CredentialsNotReady"}

// parentsPhase returns how far the parents are that the scripts serve.
func (d *Definition) parentsPhase() (phase, why string) {
	synced := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionParentsSynced)
	ready := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionReady)
	parents, updated := ptr.Deref(d.Status.Parents, 0), d.Status.UpdatedParents
	stalled := meta.IsStatusConditionTrue(d.Status.Conditions, v1alpha1.ConditionStalled) // By another edit, if this one serves.
	isReady := ready == nil || ready.Status != metav1.ConditionFalse || stalled
	switch {
	case !isReady && slices.Contains(startingReasons, ready.Reason):
		return string(v1alpha1.ScriptsProgressing), ready.Message
	case synced == nil || synced.ObservedGeneration != d.Object.GetGeneration() || updated == nil:
		return string(v1alpha1.ScriptsProgressing), "how many parents have been synced by it is not known yet"
	case *updated < parents:
		return string(v1alpha1.ScriptsProgressing), fmt.Sprintf("%d of %d parents have been synced by it", *updated, parents)
	case ptr.Deref(d.Status.FailingParents, 0) > 0:
		return PhaseFailing, synced.Message
	case !isReady:
		return PhaseFailing, ready.Message
	}
	return string(v1alpha1.ScriptsComplete), ""
}

// refusal returns why the spec is not accepted, or "".
func (d *Definition) refusal() string {
	if c := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionAccepted); c != nil && c.Status == metav1.ConditionFalse {
		return c.Message
	}
	return ""
}

// phase returns the phase of the newest scripts that the host has read, and why it is that. Nothing is said of parents.
func (d *Definition) phase() (phase, why string) {
	r, ready := d.rollout(), meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionScriptsReady)
	progressing := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionProgressing)
	if r.Phase != v1alpha1.ScriptsComplete && r.Phase != v1alpha1.ScriptsPaused { // Then it is about an edit that was taken back before.
		why = r.Message
	}
	if why == "" && progressing != nil && progressing.Reason != rollout.ReasonServing {
		why = progressing.Message
	}
	generation, pin := d.Object.GetGeneration(), d.Spec.ScriptRollout.Revision
	switch {
	case ready == nil:
		return string(v1alpha1.ScriptsProgressing), "no host has looked at it yet"
	case d.Status.ObservedGeneration < generation:
		return string(v1alpha1.ScriptsProgressing), fmt.Sprintf("the host has not looked at generation %d of the spec yet", generation)
	case d.refusal() != "":
		return PhaseNotReady, d.refusal()
	case progressing != nil && progressing.Reason == PhaseRevisionUnavailable:
		return PhaseRevisionUnavailable, progressing.Message
	case pin != "" && sameRevision(pin, d.serving()): // What the scripts hold takes over after the pin alone.
		return string(v1alpha1.ScriptsComplete), why
	case pin != "" && progressing != nil && progressing.Status == metav1.ConditionFalse:
		return string(v1alpha1.ScriptsHeld), why
	case pin != "" && ready.Reason != "NoScripts":
		return string(v1alpha1.ScriptsProgressing), why
	case ready.Status == metav1.ConditionFalse && r.UpdatedRevision == "":
		return PhaseNotReady, ready.Message
	case r.HeldRevision != "" && ready.Status == metav1.ConditionTrue: // Though an edit before it may be rolled out.
		return string(v1alpha1.ScriptsHeld), why
	case r.Phase != "" && r.Phase != v1alpha1.ScriptsComplete:
		return string(r.Phase), why
	case ready.Status == metav1.ConditionUnknown:
		return string(v1alpha1.ScriptsProgressing), ready.Message
	case d.serving() == "" && ready.Reason == "NoScripts":
		return string(v1alpha1.ScriptsComplete), ready.Message
	}
	return string(v1alpha1.ScriptsComplete), ""
}

// isSeen reports whether a host has looked at the present spec.
func (d *Definition) isSeen() bool {
	return d.Status.ObservedGeneration == d.Object.GetGeneration() && len(d.Status.Conditions) > 0
}

func (d *Definition) isPaused() bool {
	paused := d.Spec.ScriptRollout.Paused
	return paused != nil && *paused
}

// next returns the ways out of a state in which nothing goes on by itself.
func (d *Definition) next(s *RolloutStatus) []string {
	var all []string
	if s.Phase == string(v1alpha1.ScriptsProgressing) && !d.isSeen() {
		all = append(all, "if it stays so: see whether a host runs, and whether its --target-label-selector selects this definition")
	}
	if d.awaiting() != "" && (s.Phase == string(v1alpha1.ScriptsHeld) || s.Phase == string(v1alpha1.ScriptsRolledBack)) &&
		!strings.Contains(s.Message, "rollout approve") {
		all = append(all, "correct the scripts, or let this revision through: "+d.command("rollout approve"))
	}
	switch {
	case s.Phase == PhaseNotReady && d.refusal() != "":
		all = append(all, "correct the definition")
	case s.Phase == PhaseNotReady, s.Phase == PhaseFailing:
		all = append(all, "correct the scripts")
	}
	if s.unmatched {
		all = append(all, "correct the selector or the labels, or go on to the next step: "+d.command("rollout promote"))
	}
	if d.isPaused() {
		all = append(all, "go on: "+d.command("rollout resume"))
	}
	if s.Pinned != "" && !strings.Contains(s.Message, "--unpin") {
		all = append(all, "let the newest scripts serve again: "+d.command("rollback")+" --unpin")
	}
	return all
}

// Commands returns the command lines among the ways out of a status.
func (d *Definition) Commands(s *RolloutStatus) []string {
	var all []string
	for name, fits := range map[string]bool{
		"rollout approve": d.awaiting() != "" && (s.Phase == string(v1alpha1.ScriptsHeld) || s.Phase == string(v1alpha1.ScriptsRolledBack)),
		"rollout promote": s.unmatched, "rollout resume": d.isPaused(), "rollback --unpin": s.Pinned != "",
	} {
		if fits {
			all = append(all, d.command(name))
		}
	}
	slices.Sort(all)
	return all
}

// awaiting returns the revision that takes over once it is approved, or "".
func (d *Definition) awaiting() string {
	r := d.rollout()
	switch {
	case r.HeldRevision != "":
		return r.HeldRevision
	case r.Phase == v1alpha1.ScriptsRolledBack:
		return r.FailedRevision
	case r.Phase == v1alpha1.ScriptsHeld:
		return r.UpdatedRevision
	}
	return ""
}

// shortID returns the digits of a revision's ID that people see.
func shortID(id string) string { return archive.ShortID(id) }

// sameRevision reports whether two IDs, of which one may be shortened, name the same revision.
func sameRevision(a, b string) bool {
	return a != "" && b != "" && (a == b || len(a) != len(b) && shortID(a) == shortID(b))
}

// Short returns a status in one line.
func (s *RolloutStatus) Short() string {
	var parts []string
	if s.Steps > 0 && s.Phase != string(v1alpha1.ScriptsComplete) {
		parts = append(parts, fmt.Sprintf("step %d of %d", s.Step, s.Steps),
			fmt.Sprintf("%d of %d parents of the step updated, %d in all", ptr.Deref(s.UpdatedParents, 0), s.StepParents, s.Parents))
	}
	if s.Complete() && s.Revision != "" {
		parts = append(parts, fmt.Sprintf("revision %s serves all %d parents", shortID(s.Revision), s.Parents))
	}
	if s.Phase == PhaseFailing {
		parts = append(parts, fmt.Sprintf("%d of %d parents fail", ptr.Deref(s.FailingParents, 0), s.Parents))
	}
	return s.Definition + ": " + strings.Join(append([]string{s.Phase}, parts...), ", ")
}
