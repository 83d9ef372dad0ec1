package livedefinition

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Phases that are none of the status of a definition.
const (
	// PhaseNotReady is the phase while the newest scripts do not load, or their tests fail.
	PhaseNotReady = "NotReady"
	// PhaseRevisionUnavailable is the phase while a revision that is pinned, or that serves parents, can't be had.
	PhaseRevisionUnavailable = "RevisionUnavailable"
)

// RolloutStatus is how far the newest scripts of a definition have come. Revisions are IDs in full, or the digits of them that are known.
type RolloutStatus struct {
	Definition string `json:"definition"`
	// Phase is that of status.scriptRollout, NotReady or RevisionUnavailable. A definition without steps has one too.
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
	// Step, Steps, UpdatedParents and StepParents are zero without steps. StepParents have or get the edit in this step.
	Step           int32 `json:"step,omitempty"`
	Steps          int32 `json:"steps,omitempty"`
	UpdatedParents int32 `json:"updatedParents"`
	StepParents    int32 `json:"stepParents"`
	// Parents is the number of all parents.
	Parents int32 `json:"parents"`
	// Next are the ways out.
	Next []string `json:"next,omitempty"`

	// unmatched is set if the rollout has stopped at a step whose selector matches no parent.
	unmatched bool
}

// Ended reports whether nothing more happens before someone acts, and Complete whether the newest scripts serve all parents.
func (s *RolloutStatus) Ended() bool { return s.Complete() || s.Stopped() }

// Complete reports whether one revision serves all parents.
func (s *RolloutStatus) Complete() bool { return s.Phase == string(v1alpha1.ScriptsComplete) }

// Stopped reports whether the newest scripts do not come to serve.
func (s *RolloutStatus) Stopped() bool {
	switch s.Phase {
	case string(v1alpha1.ScriptsHeld), string(v1alpha1.ScriptsRolledBack), PhaseNotReady, PhaseRevisionUnavailable:
		return true
	}
	return s.unmatched
}

// RolloutStatus returns how far the newest scripts have come.
func (d *Definition) RolloutStatus() *RolloutStatus {
	r := d.rollout()
	s := &RolloutStatus{
		Definition: d.String(), Revision: d.serving(), Updated: r.UpdatedRevision, Held: r.HeldRevision,
		Failed: r.FailedRevision, Approved: r.ApprovedRevision, Pinned: d.Spec.ScriptRollout.Revision,
		Step: valueOf(r.Step), Steps: valueOf(r.Steps), UpdatedParents: valueOf(r.UpdatedParents), StepParents: valueOf(r.Parents),
		Parents: valueOf(d.Status.Parents),
	}
	s.Phase, s.Message = d.phase()
	s.unmatched = s.Phase == string(v1alpha1.ScriptsProgressing) && d.isSeen() && r.Message != ""
	s.Next = d.next(s)
	return s
}

func valueOf(n *int32) int32 {
	if n == nil {
		return 0
	}
	return *n
}

// phase returns the phase and why it is that.
func (d *Definition) phase() (phase, why string) {
	r, ready := d.rollout(), meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionScriptsReady)
	progressing := meta.FindStatusCondition(d.Status.Conditions, v1alpha1.ConditionProgressing)
	if r.Phase != v1alpha1.ScriptsComplete && r.Phase != v1alpha1.ScriptsPaused { // Then it is about an edit that was taken back before.
		why = r.Message
	}
	if why == "" && progressing != nil && progressing.Reason != "Serving" {
		why = progressing.Message
	}
	generation, pin := d.Object.GetGeneration(), d.Spec.ScriptRollout.Revision
	switch {
	case ready == nil:
		return string(v1alpha1.ScriptsProgressing), "no host has looked at it yet"
	case d.Status.ObservedGeneration < generation:
		return string(v1alpha1.ScriptsProgressing), fmt.Sprintf("the host has not looked at generation %d of the spec yet", generation)
	case progressing != nil && progressing.Reason == PhaseRevisionUnavailable:
		return PhaseRevisionUnavailable, progressing.Message
	case pin != "" && sameRevision(pin, d.serving()): // What the scripts hold takes over after the pin alone.
		return string(v1alpha1.ScriptsComplete), why
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
	if d.awaiting() != "" && (s.Phase == string(v1alpha1.ScriptsHeld) || s.Phase == string(v1alpha1.ScriptsRolledBack)) && !strings.Contains(s.Message, "rollout approve") {
		all = append(all, "correct the scripts, or let this revision through: "+d.command("rollout approve"))
	}
	if s.Phase == PhaseNotReady {
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
			fmt.Sprintf("%d of %d parents of the step updated, %d in all", s.UpdatedParents, s.StepParents, s.Parents))
	}
	if s.Complete() && s.Revision != "" {
		parts = append(parts, fmt.Sprintf("revision %s serves all %d parents", shortID(s.Revision), s.Parents))
	}
	return s.Definition + ": " + strings.Join(append([]string{s.Phase}, parts...), ", ")
}
