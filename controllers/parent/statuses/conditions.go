package statuses

import (
	"slices"
	"time"

	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Conditions of a parent that kstatus reads, and with it Flux; kubectl wait and Argo CD read Ready. Reconciling and Stalled are there only
// while they are True.
const (
	conditionReady       = "Ready"
	conditionReconciling = "Reconciling"
	conditionStalled     = "Stalled"
)

// Reasons of these conditions, by which the host knows its own.
const (
	reasonSynced      = "ParentSynced"
	reasonUnready     = "ChildrenNotReady"
	reasonProgressing = "ChildrenProgressing"
	reasonFailed      = "SyncFailed"
)

var (
	syncConditions = []any{conditionReady, conditionReconciling, conditionStalled}
	syncReasons    = []any{reasonSynced, reasonUnready, reasonProgressing, reasonFailed}
)

// WithSyncConditions returns a copy of a status with the conditions of a sync that has ended so, or the status itself if it has such a
// condition that is not the host's: then they are the hook's. before is the status that the parent has, which transition times are kept of.
func WithSyncConditions(status, before map[string]any, s health.Sync, generation int64, now time.Time) map[string]any {
	given, isList := status["conditions"].([]any)
	if !isList && status["conditions"] != nil {
		return status // The hook's conditions are not a list.
	}
	var conditions []any
	for _, c := range given {
		fields, _ := c.(map[string]any)
		switch {
		case !slices.Contains(syncConditions, fields["type"]):
			conditions = append(conditions, c)
		case !slices.Contains(syncReasons, fields["reason"]):
			return status
		}
	}
	observed, _ := before["conditions"].([]any)
	for _, c := range conditionsOf(s) {
		c["observedGeneration"], c["lastTransitionTime"] = generation, now.UTC().Format(time.RFC3339)
		at := slices.IndexFunc(observed, func(o any) bool { return has(o, "type", c["type"]) && has(o, "status", c["status"]) })
		if at >= 0 && observed[at].(map[string]any)["lastTransitionTime"] != nil {
			c["lastTransitionTime"] = observed[at].(map[string]any)["lastTransitionTime"]
		}
		conditions = append(conditions, c)
	}
	return jsonvalue.With(status, "conditions", conditions)
}

func has(condition any, field string, value any) bool {
	fields, _ := condition.(map[string]any)
	return fields[field] == value
}

// conditionsOf returns the conditions of a sync: Ready, and if it is False, whether the host goes on, or something has to change first.
func conditionsOf(s health.Sync) []map[string]any {
	result, message := s.Outcome()
	condition := func(kind, status, reason string) map[string]any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": message}
	}
	reason, why := reasonProgressing, conditionReconciling
	switch result {
	case health.ResultSettled:
		message = "the children are as the hooks want them, and ready"
		return []map[string]any{condition(conditionReady, "True", reasonSynced)}
	case health.ResultUnready:
		reason = reasonUnready
	case health.ResultFailed:
		reason = reasonFailed
		if failsAgain(s.Retry) {
			why = conditionStalled
		}
	}
	return []map[string]any{condition(conditionReady, "False", reason), condition(why, "True", reason)}
}

// failsAgain reports whether a retry fails like the sync before, unless a script, an object or a right changes.
func failsAgain(retry controller.Retry) bool {
	return slices.Contains([]controller.Retry{
		controller.Deterministic, controller.BadResponse, controller.Exhausted, controller.Invalid, controller.FieldConflict,
	}, retry)
}
