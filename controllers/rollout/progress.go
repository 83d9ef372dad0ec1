package rollout

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// Progress is what comes next in a rollout of scripts, and what there is to say of it.
type Progress struct {
	// Managed is set if a rollout decides what serves. Otherwise all else is zero.
	Managed bool
	// Next is to be stored, and Changed is set if more than counters differ from what is.
	Next    State
	Changed bool
	After   time.Duration
	// Waiting is the parent that the rollout waits for, since when and until when, or empty.
	Waiting string
	// Problem is why a revision that is needed can't be had, or empty. Pinned is set if the spec names what serves, and Sources is what the
	// sources hold meanwhile.
	Problem string
	Pinned  bool
	Sources string
	// PinHeld is why the pinned revision does not serve, or nil.
	PinHeld *Exceeded
	// Target is the newest revision that loads and is not held by its preview, or empty. Edit is set if that is an edit of the definition.
	Target string
	Edit   *v1alpha1.GuardedEdit
	// Unarchived is why the newest revision waits for the archive, once that could not be written, or empty.
	Unarchived string
	// Analyzed is set if the step waits for its analysis alone, and Lost is which of its parents have fewer children than before, or empty.
	Analyzed bool
	Lost     string
	// Serving is the stable revision, or the one that takes over with this state if no rollout decides that any more.
	Serving scripts.RevisionID
}

// Reasons of the condition Progressing, and of events.
const (
	// ReasonHeld is also that of ScriptsReady while an edit is held.
	ReasonHeld        = "Held"
	ReasonRollingOut  = "RollingOut"
	reasonPaused      = "Paused"
	ReasonPinned      = "Pinned"
	ReasonServing     = "Serving"
	reasonRolledBack  = "RolledBack"
	reasonNoRevision  = "RevisionUnavailable"
	reasonNotArchived = "NotArchived"
	reasonNoneMatches = "StepMatchesNoParent"
)

// Serves returns the revision that the status says serves: the stable one of a rollout, in the same write. loaded is the one that does
// without a rollout.
func (v Progress) Serves(loaded scripts.RevisionID) scripts.RevisionID {
	if v.Managed {
		return v.Serving
	}
	return loaded
}

// StillServingText returns which revision serves on, or that none does.
func StillServingText(serving scripts.RevisionID) string {
	if serving == "" {
		return "nothing serves"
	}
	return "revision " + serving.Short() + " goes on serving"
}

// UnpinCommand returns how a pin is taken away.
func UnpinCommand(definition *unstructured.Unstructured) string {
	return fmt.Sprintf("libretto rollback %s/%s --unpin, or delete the field", strings.ToLower(definition.GetKind()), definition.GetName())
}

// PinMessage returns what a pin does, and what the sources hold meanwhile.
func PinMessage(definition *unstructured.Unstructured, state scripts.State, pin, serving scripts.RevisionID) string {
	if !serving.IsKnownAs(pin) {
		return fmt.Sprintf("revision %s is read from the archive, as spec.scriptRollout.revision pins it; %s", pin.Short(), StillServingText(serving))
	}
	desired, then := "the scripts hold revision "+state.Desired.Short(), "to let it take over"
	switch {
	case len(state.Problems) > 0:
		desired, then = "the scripts hold a text that does not load: "+state.Message(), "once it is corrected"
	case state.Desired == serving:
		desired, then = "the scripts hold it too", "to let edits take over again"
	case state.Desired == "":
		desired = "the scripts are being read"
	case state.Held != "":
		desired += ", which is held: " + state.Held
		then = "once it is corrected or approved"
	case state.Undecided(), state.Previewing != "":
		desired += ", which is being loaded, tested or previewed"
	}
	return fmt.Sprintf("%s; %s\n%s: %s", scripts.PinnedText(serving), desired, then, UnpinCommand(definition))
}

// WithServing returns a state of scripts with the revision that serves, if a rollout decides that.
func (v Progress) WithServing(state scripts.State, running bool) scripts.State {
	if v.Managed && running && v.Serving != "" && v.Serving != state.Loaded {
		state.Loaded, state.RestoredFrom = v.Serving, ""
	}
	return state
}

// Condition returns the condition Progressing of a rollout, and whether it has one.
func (v Progress) Condition(object *unstructured.Unstructured, managers string) (c metav1.Condition, known bool) {
	if !v.Managed {
		return c, false
	}
	s := v.Next
	name, stable, what, holder := v.NameOf, v.stableName(), "the scripts"+managers, "the scripts hold"
	if v.rollsSpec() {
		what, holder = "the definition", "the definition holds"
	}
	short := func(id string) string { return scripts.RevisionID(id).Short() }
	c = metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	approve := func(id string) string { return ApproveCommands(object, short(id), "") }
	switch {
	case v.Problem != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reasonNoRevision, v.Problem
	case v.PinHeld != nil:
		c.Status, c.Reason = metav1.ConditionFalse, ReasonHeld
		c.Message = fmt.Sprintf("%s\n%s; take the pin away, or let it through: %s",
			scripts.PinHeldText(scripts.RevisionID(v.PinHeld.Revision), v.PinHeld.Message), StillServingText(v.Serving), approve(v.PinHeld.Revision))
	case v.Unarchived != "":
		c.Status, c.Reason = metav1.ConditionFalse, reasonNotArchived
		c.Message = v.Unarchived + "\n" + stable + " goes on serving"
	case s.Phase == v1alpha1.ScriptsRolledBack:
		c.Status, c.Reason = metav1.ConditionFalse, reasonRolledBack
		c.Message = fmt.Sprintf("%s was taken back from all parents: %s\n%s serves; correct %s, or try it again: %s",
			name(s.FailedRevision), s.Message, stable, what, approve(s.FailedRevision))
	case s.Phase == v1alpha1.ScriptsHeld && s.UpdatedRevision != "":
		c.Status, c.Reason = metav1.ConditionFalse, ReasonHeld
		c.Message = fmt.Sprintf("%s goes no further than step %d of %d: %s\ncorrect %s, or let it through to all parents: %s",
			name(s.UpdatedRevision), *s.Step, *s.Steps, s.Message, what, approve(s.UpdatedRevision))
	case s.Phase == v1alpha1.ScriptsPaused:
		c.Reason = reasonPaused
		c.Message = "spec.scriptRollout.paused keeps every parent at its revision: " + strings.TrimPrefix(stable, "revision ")
		if s.UpdatedRevision != "" {
			c.Message += fmt.Sprintf(", and %s after step %d of %d", strings.TrimPrefix(name(s.UpdatedRevision), "revision "), *s.Step, *s.Steps)
		}
		if v.Target != "" && v.Target != s.StableRevision && v.Target != s.UpdatedRevision {
			c.Message += fmt.Sprintf("; %s, which %s by now, waits", name(v.Target), holder)
		}
	case s.Phase == v1alpha1.ScriptsProgressing && s.Message != "":
		c.Status, c.Reason = metav1.ConditionFalse, reasonNoneMatches
		c.Message = fmt.Sprintf("%s has stopped at step %d of %d: %s\ncorrect the selector or the labels, or go on to the next step: %s",
			name(s.UpdatedRevision), *s.Step, *s.Steps, s.Message, requestCommands(object, &s, v1alpha1.PromoteRequest))
	case s.Phase == v1alpha1.ScriptsProgressing:
		c.Reason = ReasonRollingOut
		c.Message = fmt.Sprintf("%s is rolled out: step %d of %d; other parents keep %s",
			name(s.UpdatedRevision), *s.Step, *s.Steps, stable)
		if s.PausedAt != nil {
			c.Message += "; the step has gone well, and its pause began at " + s.PausedAt.UTC().Format(time.RFC3339)
		}
		if v.Lost != "" {
			c.Message += "; " + v.Lost
		}
	case v.Pinned:
		c.Reason, c.Message = ReasonPinned, v.Sources
	default:
		c.Reason, c.Message = ReasonServing, v.servingName()+" serves all parents"
	}
	return c, true
}

// rollsSpec reports whether the rollout is about an edit of the definition.
func (v Progress) rollsSpec() bool { return v.Next.UpdatedEdit != nil || v.Edit != nil }

// NameOf returns what is said of an edit.
func (v Progress) NameOf(id string) string {
	short := scripts.RevisionID(id).Short()
	if v.Next.UpdatedEdit != nil && id == v.Next.UpdatedRevision || v.Edit != nil && id == v.Target {
		return "edit " + short + " of the definition"
	}
	return "revision " + short
}

// stableName returns what is said of what serves: while another spec is rolled out or waits, the scripts may be the same.
func (v Progress) stableName() string {
	if stable := v.Next.StableSpec; stable != nil && (v.rollsSpec() || v.Serving == "") {
		return fmt.Sprintf("generation %d of the spec", stable.Generation)
	}
	return "revision " + scripts.RevisionID(v.Next.StableRevision).Short()
}

// servingName returns what is said of what serves all parents.
func (v Progress) servingName() string {
	if stable := v.Next.StableSpec; stable != nil && v.Serving == "" {
		return fmt.Sprintf("generation %d of the spec", stable.Generation)
	}
	return "revision " + v.Serving.Short()
}

// requestCommands returns how something is asked for in the present step.
func requestCommands(definition *unstructured.Unstructured, state *State, action string) string {
	kind, name := strings.ToLower(definition.GetKind()), definition.GetName()
	return fmt.Sprintf("libretto rollout %s %s/%s, or kubectl annotate --overwrite %[2]s %[3]s %[4]s=%[5]q",
		action, kind, name, v1alpha1.RolloutRequestAnnotation, state.Request(action))
}

// WaitingCondition returns the condition Progressing, with what the rollout waits for. That is no part of events: it changes with each
// parent.
func (v Progress) WaitingCondition(object *unstructured.Unstructured, managers string) (c metav1.Condition, known bool) {
	c, known = v.Condition(object, managers)
	if known && v.Waiting != "" && c.Status == metav1.ConditionTrue {
		c.Message += "\n" + v.Waiting
		if v.Analyzed {
			c.Message += "\ngo on without it: " + requestCommands(object, &v.Next, v1alpha1.PromoteRequest)
		}
	}
	return c, known
}

// InScriptsReady returns the condition ScriptsReady, with what a rollout makes of scripts that have loaded: kubectl get shows its reason.
func (v Progress) InScriptsReady(object *unstructured.Unstructured, c metav1.Condition) metav1.Condition {
	if c.Reason != "Loaded" && (c.Reason != ReasonHeld || !v.Pinned) {
		return c
	}
	if of, known := v.Condition(object, ""); known && of.Reason != ReasonServing {
		c.Reason, c.Message = of.Reason, "the scripts have loaded; "+of.Message
	}
	return c
}

// WaitingText returns what a rollout waits for. It does not change while the rollout waits for the same.
func WaitingText(result Result) string {
	if result.Waiting == "" {
		return ""
	}
	text := fmt.Sprintf("it waits since %s for %s", result.Since.UTC().Format(time.RFC3339), result.Waiting)
	if !result.Deadline.IsZero() {
		text += fmt.Sprintf("; the edit counts as failed if it has not gone well by %s", result.Deadline.UTC().Format(time.RFC3339))
	}
	return text
}

// WithoutCounts returns a state without its counters of parents.
func WithoutCounts(state State) State {
	state.Parents, state.UpdatedParents = nil, nil
	return state
}

// Merge returns what the status is to say of a rollout, after what it says of held revisions. Which one is approved is the rollout's to
// say.
func (v Progress) Merge(before *v1alpha1.ScriptRolloutStatus) *v1alpha1.ScriptRolloutStatus {
	if !v.Managed {
		return before
	}
	next := *v.Next.DeepCopy()
	if before != nil {
		next.HeldRevision = before.HeldRevision
	}
	if next.HeldRevision != "" && !v.Pinned && next.UpdatedRevision == "" && next.Phase == v1alpha1.ScriptsComplete {
		next.Phase = v1alpha1.ScriptsHeld
	}
	if equality.Semantic.DeepEqual(next, v1alpha1.ScriptRolloutStatus{}) {
		return nil
	}
	return &next
}

// ApproveCommands returns how a revision is approved. others are what may be annotated beside the definition.
func ApproveCommands(definition *unstructured.Unstructured, id, others string) string {
	argument := v1alpha1.ArgumentOf(definition)
	return fmt.Sprintf("libretto rollout approve %s, or annotate it%s: kubectl annotate --overwrite %s %s=%s",
		argument, others, strings.Replace(argument, "/", " ", 1), v1alpha1.ApprovedRevisionAnnotation, id)
}
