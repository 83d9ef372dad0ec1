package definition

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/rollout"
)

// editCondition returns the condition of kstatus about an edit of the spec or the scripts by which not all parents are synced: Stalled if
// it waits for someone, or Reconciling if it is on its way. Its type is empty if there is none, also while a pin says what serves.
func editCondition(s *runtimeState, refusal *plan.Refusal, v statusView) metav1.Condition {
	accepted, scripts := v.conditions[0], *meta.FindStatusCondition(v.conditions, v1alpha1.ConditionScriptsReady)
	progressing := s.progressing(v)
	stalled := func(c metav1.Condition) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: c.Reason, Message: c.Message}
	}
	reconciling := func(c metav1.Condition) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: c.Reason, Message: c.Message}
	}
	switch {
	case refusal != nil && refusal.Reason == plan.ReasonInvalid:
		return stalled(accepted)
	case refusal != nil: // What is missing may come.
		return reconciling(accepted)
	case v.rollout.Pinned && progressing.Reason == rollout.ReasonPinned:
	case scripts.Status == metav1.ConditionFalse && !slices.Contains(sourceReasons, scripts.Reason):
		return stalled(scripts)
	case scripts.Status != metav1.ConditionTrue:
		return reconciling(scripts)
	case progressing.Status == metav1.ConditionFalse:
		return stalled(progressing)
	case progressing.Status == metav1.ConditionTrue && progressing.Reason != rollout.ReasonServing:
		return reconciling(progressing)
	case s.next != nil:
		return reconciling(metav1.Condition{Reason: reasonEarlierSpec, Message: "the newest spec is about to take over"})
	}
	return metav1.Condition{}
}

// sourceReasons are those of ScriptsReady while a source can't be read, which may pass: a tool may write it later.
var sourceReasons = []string{"ScriptSourceMissing", "ScriptSourceUnreadable"}

// progressing returns the condition Progressing as it is to be stored, without the parent that a rollout waits for.
func (s *runtimeState) progressing(v statusView) metav1.Condition {
	if c, known := v.rollout.Condition(s.object, managersOf(v.newest.objects)); known && v.isOfRollout(c) {
		return c
	}
	stored := v1alpha1.StoredStatus(s.object).Conditions
	if len(stored) == 0 && s.status != nil {
		stored = s.status.Conditions
	}
	for _, conditions := range [][]metav1.Condition{v.conditions, stored} {
		if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionProgressing); c != nil {
			return *c
		}
	}
	return metav1.Condition{}
}

// isOfRollout reports whether a condition of the rollout is the condition Progressing. It does not know of an edit that is held, or is
// being previewed, before a parent has it.
func (v statusView) isOfRollout(c metav1.Condition) bool {
	return v.rollout.Pinned || v.hold.why == "" && (v.newest.state.Previewing == "" || c.Reason != rollout.ReasonServing)
}

// withPendingEdit returns the condition Ready, which is not True while an edit does not serve all parents.
func withPendingEdit(ready, edit metav1.Condition) metav1.Condition {
	if ready.Status != metav1.ConditionTrue || edit.Type == "" {
		return ready
	}
	message := "parents are synced, but not all of them by the newest edit\n" + edit.Message
	if ready.Reason != reasonRunning {
		message += "\n" + ready.Message
	}
	ready.Status, ready.Reason, ready.Message = metav1.ConditionUnknown, edit.Reason, message
	if edit.Type == v1alpha1.ConditionStalled {
		ready.Status = metav1.ConditionFalse
	}
	return ready
}

// setPendingEdit makes a status say so. Conditions of kstatus are absent rather than False.
func setPendingEdit(status *v1alpha1.DefinitionStatus, edit metav1.Condition) {
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionReconciling} {
		if kind != edit.Type {
			meta.RemoveStatusCondition(&status.Conditions, kind)
		}
	}
	if edit.Type != "" {
		edit.ObservedGeneration = status.ObservedGeneration
		meta.SetStatusCondition(&status.Conditions, edit)
	}
}
