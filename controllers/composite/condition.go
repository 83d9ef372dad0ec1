package composite

import (
	"fmt"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// The condition of a parent's status that reports a rollout, and its reasons (section 0 of
// the specification; metacontroller does not have the last one).
const (
	conditionUpdated       = "Updated"
	reasonOnLatest         = "OnLatestRevision"
	reasonProgressing      = "RolloutProgressing"
	reasonWaiting          = "RolloutWaiting"
	reasonDeadlineExceeded = variant.ReasonDeadlineExceeded
)

// maxNamed is how many children a message names.
const maxNamed = 3

// condition is the condition Updated.
type condition struct{ status, reason, message string }

// condition returns the state of the rollout. As in metacontroller it is True once all children
// are of the update revision, even if some are unhealthy.
func (r *rollingUpdate) condition() condition {
	switch {
	case len(r.started) > 0:
		return condition{"False", reasonProgressing, "updating " + namesOf(r.started) + r.withheldMessage()}
	case r.blocker == nil:
		return condition{"True", reasonOnLatest, "latest ControllerRevision: " + r.updateRevision.name}
	default:
		return condition{"False", reasonWaiting, r.blocker.String() + r.withheldMessage()}
	}
}

// withheldMessage names the children that are not created on purpose, and the remedy.
func (r *rollingUpdate) withheldMessage() string {
	if len(r.withheld) == 0 {
		return ""
	}
	return fmt.Sprintf("; not made: %s, as %s and the hook wants no such child for an earlier ControllerRevision: "+
		"let the rollout go on, or leave the fields that scale out of revisionHistory.fieldPaths",
		namesOf(r.withheld), r.withheld[0].holdReason())
}

// namesOf lists children, at most maxNamed of them.
func namesOf(children []*rollingChild) string {
	return listOf(children, func(c *rollingChild) string { return c.key.String() })
}

// listOf returns the names of values, at most maxNamed of them.
func listOf[T any](values []T, name func(T) string) string {
	var names []string
	for _, value := range values[:min(len(values), maxNamed)] {
		names = append(names, name(value))
	}
	text := strings.Join(names, ", ")
	if more := len(values) - len(names); more > 0 {
		return fmt.Sprintf("%s and %d more", text, more)
	}
	return text
}
