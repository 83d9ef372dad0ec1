// Package status has what the status of a definition says of its parents, and the metrics of all that a status says.
package status

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
)

const (
	// ParentsInterval is the time between two writes of a status that differ only in what is said of parents.
	ParentsInterval = 5 * time.Second
	// SweepTime is how long the status keeps what it says of parents after a start until they are listed, and then until all of them are
	// synced.
	SweepTime = 30 * time.Second
)

// Parents is what the status of a definition says of its parents.
type Parents struct {
	// Summary is nil if nothing runs, or the parents are not listed yet.
	Summary *parent.Summary
	IsMap   bool
	// Keep is set if what the status says now is to stay.
	Keep bool
	// Generation is that of the spec by which parents are synced.
	Generation int64
}

// Set writes it into a status, except for what is to stay.
func (p Parents) Set(status *v1alpha1.DefinitionStatus) {
	status.Parents = nil
	if p.Summary != nil {
		status.Parents = &p.Summary.Parents
	}
	stored := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentsSynced)
	if p.Keep && stored != nil && stored.Status != metav1.ConditionUnknown {
		return
	}
	clearParentCounts(status)
	if s := p.Summary; s != nil && !p.Keep {
		status.SyncedParents, status.FailingParents, status.WaitingParents = &s.Synced, &s.Failing, &s.Waiting
		status.UpdatedParents = &s.Updated
		status.OutdatedChildren = s.Outdated
		if p.IsMap {
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
func (p Parents) condition() metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionParentsSynced, Status: metav1.ConditionUnknown, ObservedGeneration: p.Generation}
	switch s := p.Summary; {
	case p.Keep:
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
func describe(reports []parent.Health, count int32) string {
	var lines []string
	for _, report := range reports {
		lines = append(lines, fmt.Sprintf("%s: %s (since %s)", report.Parent, report.Message, report.Since.UTC().Format(time.RFC3339)))
	}
	if more := int(count) - len(reports); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// OfParents returns what a status says of parents, without the time of its condition, of which stored ones have whole seconds.
func OfParents(status v1alpha1.DefinitionStatus) v1alpha1.DefinitionStatus {
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

// isAboutParents reports whether a condition may say which parent a rollout waits for. What else it says is in status.scriptRollout as
// well.
func isAboutParents(progressing *metav1.Condition) bool {
	return progressing != nil && (progressing.Reason == rollout.ReasonRollingOut || progressing.Reason == rollout.ReasonServing)
}

// WithoutParents returns a copy of a status without that, and without the times of its conditions.
func WithoutParents(status v1alpha1.DefinitionStatus) v1alpha1.DefinitionStatus {
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
