package definition

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// managersOf returns who writes the ConfigMaps, for a message that asks for an edit: a tool may bring the text again.
func managersOf(objects []scripts.Object) string {
	var names []string
	for _, o := range objects {
		if o.Manager != "" {
			names = append(names, fmt.Sprintf("ConfigMap %s is written by %s", o.NamespacedName, o.Manager))
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return " (" + strings.Join(names, ", ") + ")"
}

// serves returns the revision that the status says serves: the stable one of a rollout, in the same write.
func (v rolloutView) serves(all statusView) scripts.RevisionID {
	if v.managed {
		return v.serving
	}
	return all.revision
}

// goesOn returns which revision serves on, or that none does.
func goesOn(serving scripts.RevisionID) string {
	if serving == "" {
		return "nothing serves"
	}
	return "revision " + serving.Short() + " goes on serving"
}

// unpinCommand returns how a pin is taken away.
func unpinCommand(definition *unstructured.Unstructured) string {
	return fmt.Sprintf("libretto rollback %s/%s --unpin, or delete the field", strings.ToLower(definition.GetKind()), definition.GetName())
}

// pinMessage returns what a pin does, and what the sources hold meanwhile.
func pinMessage(definition *unstructured.Unstructured, state scripts.State, pin, serving scripts.RevisionID) string {
	if !serving.IsKnownAs(pin) {
		return fmt.Sprintf("revision %s is read from the archive, as spec.scriptRollout.revision pins it; %s", pin.Short(), goesOn(serving))
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
	return fmt.Sprintf("%s; %s\n%s: %s", scripts.PinnedText(serving), desired, then, unpinCommand(definition))
}

// withServing returns a state of scripts with the revision that serves, if a rollout decides that.
func (v rolloutView) withServing(state scripts.State, running bool) scripts.State {
	if v.managed && running && v.serving != "" && v.serving != state.Loaded {
		state.Loaded, state.RestoredFrom = v.serving, ""
	}
	return state
}

// Reasons of the condition Progressing, and of events.
const (
	reasonRollingOut  = "RollingOut"
	reasonPaused      = "Paused"
	reasonPinned      = "Pinned"
	reasonServing     = "Serving"
	reasonRolledBack  = "RolledBack"
	reasonNoRevision  = "RevisionUnavailable"
	reasonNotArchived = "NotArchived"
	reasonNoneMatches = "StepMatchesNoParent"
)

// condition returns the condition Progressing of a rollout, and whether it has one.
func (v rolloutView) condition(object *unstructured.Unstructured, managers string) (c metav1.Condition, known bool) {
	if !v.managed {
		return c, false
	}
	s := v.next
	name, stable, what, holder := v.nameOf, v.stableName(), "the scripts"+managers, "the scripts hold"
	if v.rollsSpec() {
		what, holder = "the definition", "the definition holds"
	}
	short := func(id string) string { return scripts.RevisionID(id).Short() }
	c = metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: metav1.ConditionTrue}
	approve := func(id string) string { return approveCommands(object, short(id), "") }
	switch {
	case v.problem != "":
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, reasonNoRevision, v.problem
	case v.pinHeld != nil:
		c.Status, c.Reason = metav1.ConditionFalse, reasonHeld
		c.Message = fmt.Sprintf("%s\n%s; take the pin away, or let it through: %s",
			scripts.PinHeldText(scripts.RevisionID(v.pinHeld.Revision), v.pinHeld.Message), goesOn(v.serving), approve(v.pinHeld.Revision))
	case v.unarchived != "":
		c.Status, c.Reason = metav1.ConditionFalse, reasonNotArchived
		c.Message = v.unarchived + "\n" + stable + " goes on serving"
	case s.Phase == v1alpha1.ScriptsRolledBack:
		c.Status, c.Reason = metav1.ConditionFalse, reasonRolledBack
		c.Message = fmt.Sprintf("%s was taken back from all parents: %s\n%s serves; correct %s, or try it again: %s",
			name(s.FailedRevision), s.Message, stable, what, approve(s.FailedRevision))
	case s.Phase == v1alpha1.ScriptsHeld && s.UpdatedRevision != "":
		c.Status, c.Reason = metav1.ConditionFalse, reasonHeld
		c.Message = fmt.Sprintf("%s goes no further than step %d of %d: %s\ncorrect %s, or let it through to all parents: %s",
			name(s.UpdatedRevision), *s.Step, *s.Steps, s.Message, what, approve(s.UpdatedRevision))
	case s.Phase == v1alpha1.ScriptsPaused:
		c.Reason = reasonPaused
		c.Message = "spec.scriptRollout.paused keeps every parent at its revision: " + strings.TrimPrefix(stable, "revision ")
		if s.UpdatedRevision != "" {
			c.Message += fmt.Sprintf(", and %s after step %d of %d", strings.TrimPrefix(name(s.UpdatedRevision), "revision "), *s.Step, *s.Steps)
		}
		if v.target != "" && v.target != s.StableRevision && v.target != s.UpdatedRevision {
			c.Message += fmt.Sprintf("; %s, which %s by now, waits", name(v.target), holder)
		}
	case s.Phase == v1alpha1.ScriptsProgressing && s.Message != "":
		c.Status, c.Reason = metav1.ConditionFalse, reasonNoneMatches
		c.Message = fmt.Sprintf("%s has stopped at step %d of %d: %s\ncorrect the selector or the labels, or go on to the next step: %s",
			name(s.UpdatedRevision), *s.Step, *s.Steps, s.Message, requestCommands(object, &s, v1alpha1.PromoteRequest))
	case s.Phase == v1alpha1.ScriptsProgressing:
		c.Reason = reasonRollingOut
		c.Message = fmt.Sprintf("%s is rolled out: step %d of %d; other parents keep %s",
			name(s.UpdatedRevision), *s.Step, *s.Steps, stable)
		if s.PausedAt != nil {
			c.Message += "; the step has gone well, and its pause began at " + s.PausedAt.UTC().Format(time.RFC3339)
		}
		if v.lost != "" {
			c.Message += "; " + v.lost
		}
	case v.pinned:
		c.Reason, c.Message = reasonPinned, v.sources
	default:
		c.Reason, c.Message = reasonServing, v.servingName()+" serves all parents"
	}
	return c, true
}

// rollsSpec reports whether the rollout is about an edit of the definition.
func (v rolloutView) rollsSpec() bool { return v.next.UpdatedEdit != nil || v.edit != nil }

// nameOf returns what is said of an edit.
func (v rolloutView) nameOf(id string) string {
	short := scripts.RevisionID(id).Short()
	if v.next.UpdatedEdit != nil && id == v.next.UpdatedRevision || v.edit != nil && id == v.target {
		return "edit " + short + " of the definition"
	}
	return "revision " + short
}

// stableName returns what is said of what serves: while another spec is rolled out or waits, the scripts may be the same.
func (v rolloutView) stableName() string {
	if stable := v.next.StableSpec; stable != nil && (v.rollsSpec() || v.serving == "") {
		return fmt.Sprintf("generation %d of the spec", stable.Generation)
	}
	return "revision " + scripts.RevisionID(v.next.StableRevision).Short()
}

// servingName returns what is said of what serves all parents.
func (v rolloutView) servingName() string {
	if stable := v.next.StableSpec; stable != nil && v.serving == "" {
		return fmt.Sprintf("generation %d of the spec", stable.Generation)
	}
	return "revision " + v.serving.Short()
}

// requestCommands returns how something is asked for in the present step.
func requestCommands(definition *unstructured.Unstructured, state *rollout.State, action string) string {
	kind, name := strings.ToLower(definition.GetKind()), definition.GetName()
	return fmt.Sprintf("libretto rollout %s %s/%s, or kubectl annotate --overwrite %[2]s %[3]s %[4]s=%[5]q",
		action, kind, name, v1alpha1.RolloutRequestAnnotation, state.Request(action))
}

// progressing returns the condition Progressing, with what the rollout waits for. That is no part of events: it changes with each parent.
func (v rolloutView) progressing(object *unstructured.Unstructured, managers string) (c metav1.Condition, known bool) {
	c, known = v.condition(object, managers)
	if known && v.waiting != "" && c.Status == metav1.ConditionTrue {
		c.Message += "\n" + v.waiting
		if v.analyzed {
			c.Message += "\ngo on without it: " + requestCommands(object, &v.next, v1alpha1.PromoteRequest)
		}
	}
	return c, known
}

// inScriptsReady returns the condition ScriptsReady, with what a rollout makes of scripts that have loaded: kubectl get shows its reason.
func (v rolloutView) inScriptsReady(object *unstructured.Unstructured, c metav1.Condition) metav1.Condition {
	if c.Reason != "Loaded" && (c.Reason != reasonHeld || !v.pinned) {
		return c
	}
	if rollout, known := v.condition(object, ""); known && rollout.Reason != reasonServing {
		c.Reason, c.Message = rollout.Reason, "the scripts have loaded; "+rollout.Message
	}
	return c
}

// sendRolloutEvents emits an event if the condition Progressing, which is stored, says something else of a rollout.
func (r *Reconciler) sendRolloutEvents(object *unstructured.Unstructured, s *runtimeState, v statusView) {
	c, known := v.rollout.condition(object, managersOf(v.objects))
	if !known || !v.isOfRollout(c) {
		return
	}
	before, now := s.lastEvents.rollout, c.Reason+": "+c.Message
	s.lastEvents.rollout = now
	if before == "" && c.Reason == reasonServing || now == before {
		return
	}
	kind := corev1.EventTypeNormal
	if c.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.config.Environment.RolloutEvents.Event(object, kind, c.Reason, c.Message)
	if kind == corev1.EventTypeWarning {
		for _, source := range v.objects {
			r.config.Environment.RolloutEvents.Event(reference(source), kind, c.Reason, nameOf(object)+": "+c.Message)
		}
	}
	r.config.Environment.Log.Info("rollout of scripts", "definition", nameOf(object), "reason", c.Reason, "message", c.Message)
}
