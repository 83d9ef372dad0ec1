package composite

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withUpdated puts the condition into a status, where status and its conditions
// are not the hook's any more. An entry of the hook's own stays as it is, and the
// rollout goes on regardless. One that the hook has taken over from the parent is
// no such entry: its reason shows that it is the host's.
//
// The time changes only with the status. since is the time to give where the
// parent tells of no rollout so far.
func setUpdatedCondition(status map[string]any, told condition, before map[string]any, since, now time.Time) {
	given, isList := status["conditions"].([]any)
	if !isList && status["conditions"] != nil {
		return // What the hook has there are not conditions as Kubernetes knows them.
	}
	entry := told.entry(before, since, now)
	conditions := slices.Clone(given)
	at := slices.IndexFunc(conditions, isUpdated)
	switch {
	case at < 0:
		conditions = append(conditions, entry)
	case isHostCondition(conditions[at].(map[string]any)):
		conditions[at] = entry
	default:
		return
	}
	status["conditions"] = conditions
}

func isUpdated(condition any) bool {
	fields, ok := condition.(map[string]any)
	return ok && fields["type"] == conditionUpdated
}

// ours says whether the host has written a condition.
func isHostCondition(condition map[string]any) bool {
	reason, _ := condition["reason"].(string)
	return slices.Contains([]string{reasonOnLatest, reasonProgressing, reasonWaiting, reasonDeadlineExceeded}, reason)
}

// entry is the condition as it stands in a status. One that was there without a
// time, as metacontroller writes it, stays without until its status changes.
func (c condition) entry(before map[string]any, since, now time.Time) map[string]any {
	entry := map[string]any{"type": conditionUpdated, "status": c.status, "reason": c.reason, "message": c.message}
	switch {
	case before == nil:
		entry["lastTransitionTime"] = formatTime(since)
	case before["status"] != c.status:
		entry["lastTransitionTime"] = formatTime(now)
	case before["lastTransitionTime"] != nil:
		entry["lastTransitionTime"] = before["lastTransitionTime"]
	}
	return entry
}

// updatedBefore is the host's condition on the parent as observed, or nil.
func observedCondition(p *unstructured.Unstructured) map[string]any {
	conditions, _ := valueAt(p.Object, []string{"status", "conditions"}).([]any)
	if condition := conditionOf(conditions, conditionUpdated); condition != nil && isHostCondition(condition) {
		return condition
	}
	return nil
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
