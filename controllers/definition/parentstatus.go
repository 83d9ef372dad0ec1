package definition

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

const (
	// parentsInterval is the time between two writes of a status that differ only in what is said of parents.
	parentsInterval = 5 * time.Second
	// sweepTime is how long the status keeps what it says of parents after a start until they are listed, and then until all of them are
	// synced.
	sweepTime = 30 * time.Second
)

// parentStatus is what the status of a definition says of its parents.
type parentStatus struct {
	// summary is nil if nothing runs, or the parents are not listed yet.
	summary *parent.Summary
	isMap   bool
	// keep is set if what the status says now is to stay.
	keep bool
	// generation is that of the spec by which parents are synced.
	generation int64
}

// newParentStatus returns what there is to say of the parents of the running instance, which may be nil. serves is the revision of its
// scripts.
func newParentStatus(running *instance, serves scripts.RevisionID, now time.Time) parentStatus {
	switch {
	case running == nil:
		return parentStatus{}
	case !running.synced.Load():
		return parentStatus{generation: running.plan.Generation, keep: now.Sub(running.startedAt) < sweepTime}
	}
	summary := running.reconciler.Summary(string(serves))
	return parentStatus{
		summary: &summary, isMap: running.plan.Kind == v1alpha1.MapControllerKind, generation: running.plan.Generation,
		keep: summary.Sweeping && now.Sub(summary.SweepBegan) < sweepTime,
	}
}

// set writes it into a status, except for what is to stay.
func (p parentStatus) set(status *v1alpha1.DefinitionStatus) {
	status.Parents = nil
	if p.summary != nil {
		status.Parents = &p.summary.Parents
	}
	stored := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentsSynced)
	if p.keep && stored != nil && stored.Status != metav1.ConditionUnknown {
		return
	}
	clearParentCounts(status)
	if s := p.summary; s != nil && !p.keep {
		status.SyncedParents, status.FailingParents, status.WaitingParents = &s.Synced, &s.Failing, &s.Waiting
		status.UpdatedParents = &s.Updated
		status.OutdatedChildren = s.Outdated
		if p.isMap {
			status.SyncedInputs, status.FailingInputs, status.WaitingInputs = &s.SyncedInputs, &s.FailingInputs, &s.WaitingInputs
		}
	}
	meta.SetStatusCondition(&status.Conditions, p.condition())
}

// clearParentCounts removes the counts of parents, children and inputs by state.
func clearParentCounts(status *v1alpha1.DefinitionStatus) {
	status.SyncedParents, status.FailingParents, status.WaitingParents, status.OutdatedChildren = nil, nil, nil, nil
	status.UpdatedParents = nil
	status.SyncedInputs, status.FailingInputs, status.WaitingInputs = nil, nil, nil
}

// condition returns the condition ParentsSynced.
func (p parentStatus) condition() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionParentsSynced, Status: metav1.ConditionUnknown, ObservedGeneration: p.generation}
	switch s := p.summary; {
	case p.keep:
		c.Reason, c.Message = "Syncing", "parents are being synced for the first time since the start"
	case s == nil:
		c.Reason, c.Message = "NotRunning", "no parent is synced: see the condition Ready"
	case s.Failing > 0:
		c.Status, c.Reason = metav1.ConditionFalse, s.Failures[0].Reason
		c.Message = fmt.Sprintf("%d of %d %s: %s", s.Failing, s.Parents, failVerb(s), describe(s.Failures, s.Failing))
	case s.Sweeping:
		c.Reason, c.Message = "Syncing", "not all parents have been synced since the start"
	case s.Parents == 0:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "NoParents", "there are no parents"
	case s.Waiting > 0:
		c.Status, c.Reason = metav1.ConditionTrue, "Waiting"
		c.Message = fmt.Sprintf("no parent fails, and %d of %d wait: %s", s.Waiting, s.Parents, describe(s.Waits, s.Waiting))
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "Synced", "the last syncs of all parents succeeded"
	}
	return c
}

func failVerb(s *parent.Summary) string {
	switch {
	case s.Parents == 1:
		return "parent fails"
	case s.Ways > 1:
		return fmt.Sprintf("parents fail in %d ways", s.Ways)
	}
	return "parents fail"
}

// describe returns a line for each report, and how many there are besides.
func describe(reports []parent.Report, count int32) string {
	var lines []string
	for _, report := range reports {
		lines = append(lines, fmt.Sprintf("%s: %s (since %s)", report.Parent, report.Message, report.Since.UTC().Format(time.RFC3339)))
	}
	if more := int(count) - len(reports); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// parentsDelay returns how long to wait before a status is written that differs from the last one only in what it says of parents, or
// zero. Parents that fail and recover all the time would have it written all the time.
func (s *runtimeState) parentsDelay(next v1alpha1.DefinitionStatus, now time.Time) time.Duration {
	if s.status == nil || equality.Semantic.DeepEqual(parentsIn(*s.status), parentsIn(next)) {
		return 0
	}
	onlyParents := equality.Semantic.DeepEqual(withoutParents(*s.status), withoutParents(next))
	if wait := s.writes.parentsAt.Add(parentsInterval).Sub(now); wait > 0 && onlyParents {
		return wait
	}
	s.writes.parentsAt = now
	return 0
}

// parentsIn returns what a status says of parents, without the time of its condition, of which stored ones have whole seconds.
func parentsIn(status v1alpha1.DefinitionStatus) v1alpha1.DefinitionStatus {
	only := v1alpha1.DefinitionStatus{
		Parents: status.Parents, UpdatedParents: status.UpdatedParents, SyncedParents: status.SyncedParents,
		FailingParents: status.FailingParents, WaitingParents: status.WaitingParents, OutdatedChildren: status.OutdatedChildren,
		SyncedInputs: status.SyncedInputs, FailingInputs: status.FailingInputs, WaitingInputs: status.WaitingInputs,
	}
	if rollout := status.ScriptRollout; rollout != nil {
		only.ScriptRollout = &v1alpha1.ScriptRolloutStatus{Parents: rollout.Parents, UpdatedParents: rollout.UpdatedParents}
	}
	if condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentsSynced); condition != nil {
		only.Conditions = append(only.Conditions, *condition)
	}
	if condition := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionProgressing); isAboutParents(condition) {
		only.Conditions = append(only.Conditions, *condition)
	}
	for i := range only.Conditions {
		only.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return only
}

// isAboutParents reports whether a condition may say which parent a rollout waits for. What else it says is in status.scriptRollout as well.
func isAboutParents(progressing *metav1.Condition) bool {
	return progressing != nil && (progressing.Reason == rollout.ReasonRollingOut || progressing.Reason == rollout.ReasonServing)
}

// withoutParents returns a copy of a status without that, and without the times of its conditions.
func withoutParents(status v1alpha1.DefinitionStatus) v1alpha1.DefinitionStatus {
	rest := *status.DeepCopy()
	rest.Parents = nil
	if rest.ScriptRollout != nil {
		*rest.ScriptRollout = rollout.WithoutCounts(*rest.ScriptRollout)
	}
	clearParentCounts(&rest)
	meta.RemoveStatusCondition(&rest.Conditions, v1alpha1.ConditionParentsSynced)
	if progressing := meta.FindStatusCondition(rest.Conditions, v1alpha1.ConditionProgressing); isAboutParents(progressing) {
		progressing.Message = ""
	}
	for i := range rest.Conditions {
		rest.Conditions[i].LastTransitionTime = metav1.Time{}
	}
	return rest
}
