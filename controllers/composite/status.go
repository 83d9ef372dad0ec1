package composite

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// setUpdatedCondition sets the condition in a status, which is a copy of the hook's. A
// condition Updated of the hook itself stays as it is, unless the hook copied it from the
// parent, which its reason shows.
//
// The transition time changes only with the status of the condition. It is since if the
// parent has no such condition yet.
func setUpdatedCondition(status map[string]any, updated condition, before map[string]any, since, now time.Time) {
	given, isList := status["conditions"].([]any)
	if !isList && status["conditions"] != nil {
		return // The hook's conditions are not a list.
	}
	entry := updated.entry(before, since, now)
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

// isHostCondition reports whether the host wrote a condition.
func isHostCondition(condition map[string]any) bool {
	reason, _ := condition["reason"].(string)
	return slices.Contains([]string{reasonOnLatest, reasonProgressing, reasonWaiting, reasonDeadlineExceeded}, reason)
}

// entry returns the condition in the form of a status. If it was there without a transition
// time, as metacontroller writes it, it gets one when its status changes.
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

// observedCondition returns the host's condition on the observed parent, or nil.
func observedCondition(p *unstructured.Unstructured) map[string]any {
	if condition := jsonvalue.Condition(p.Object, conditionUpdated); condition != nil && isHostCondition(condition) {
		return condition
	}
	return nil
}

func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
