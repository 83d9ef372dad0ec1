package readiness

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// object reads the fields of an object.
type object struct{ *unstructured.Unstructured }

func (o object) int(path ...string) (int64, bool) {
	value, _, _ := unstructured.NestedFieldNoCopy(o.Object, path...)
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	default:
		return 0, false
	}
}

// number returns a number, or 0.
func (o object) number(path ...string) int64 { n, _ := o.int(path...); return n }

func (o object) text(path ...string) string {
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

// replicas returns spec.replicas.
func (o object) replicas() int64 { return o.wanted("replicas") }

// wanted returns a number of the spec, which defaults to 1.
func (o object) wanted(field string) int64 {
	if n, ok := o.int("spec", field); ok {
		return n
	}
	return 1
}

// conditions returns status.conditions.
func (o object) conditions() []map[string]any { return jsonvalue.Conditions(o.Object) }

// condition returns the status of a condition, or "", and what it says.
func (o object) condition(kind string) (reason, status string) {
	c := jsonvalue.Condition(o.Object, kind)
	if c == nil {
		return "there is no condition " + kind, ""
	}
	status, _ = c["status"].(string)
	reason = fmt.Sprintf("condition %s is %s", kind, status)
	for _, field := range []string{"reason", "message"} {
		if text, _ := c[field].(string); text != "" {
			reason += ": " + text
		}
	}
	return reason, status
}

// reasonOf returns the reason field of a condition.
func (o object) reasonOf(kind string) string {
	reason, _ := jsonvalue.Condition(o.Object, kind)["reason"].(string)
	return reason
}

// condition returns the check for a condition that must be true.
func condition(kind string) func(object) Status {
	return func(o object) Status {
		if reason, is := o.condition(kind); is != "True" {
			return Status{InProgress, reason}
		}
		return ready
	}
}

// phase returns the check for a phase, which must be one of those.
func phase(wanted ...string) func(object) Status {
	return func(o object) Status {
		if is := o.text("status", "phase"); !slices.Contains(wanted, is) {
			return Status{InProgress, fmt.Sprintf("phase is %q", is)}
		}
		return ready
	}
}

// withPhase returns a status with a phase.
func withPhase(phase string) func(object, string) map[string]any {
	return func(o object, _ string) map[string]any {
		status := o.status()
		status["phase"] = phase
		return status
	}
}

// withConditions returns the present status with conditions that are true.
func withConditions(kinds ...string) func(object, string) map[string]any {
	return func(o object, now string) map[string]any {
		status := o.status()
		for _, kind := range kinds {
			setCondition(status, kind, "True", kind, now)
		}
		if generation := o.GetGeneration(); generation != 0 {
			status["observedGeneration"] = generation
		}
		return status
	}
}

// status returns a copy of the status.
func (o object) status() map[string]any {
	status, _ := o.Object["status"].(map[string]any)
	if status == nil {
		return map[string]any{}
	}
	return runtime.DeepCopyJSON(status)
}

// setCondition sets a condition of a status. One that has the value keeps its time.
func setCondition(status map[string]any, kind, value, reason, now string) {
	list, _ := status["conditions"].([]any)
	next := map[string]any{"type": kind, "status": value, "lastTransitionTime": now}
	if reason != "" {
		next["reason"], next["message"] = reason, ""
	}
	for i, item := range list {
		c, ok := item.(map[string]any)
		if !ok || c["type"] != kind {
			continue
		}
		if c["status"] != value {
			list[i] = next
		}
		return
	}
	status["conditions"] = append(list, next)
}
