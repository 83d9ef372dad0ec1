package composite

import "fmt"

// The condition of a parent's status that tells of a rollout, and its reasons
// (section 0 of the specification; the last one is ours).
const (
	conditionUpdated       = "Updated"
	reasonOnLatest         = "OnLatestRevision"
	reasonProgressing      = "RolloutProgressing"
	reasonWaiting          = "RolloutWaiting"
	reasonDeadlineExceeded = "ProgressDeadlineExceeded"
)

// maxNamed is how many children a message names.
const maxNamed = 3

// condition is what is told of a rollout.
type condition struct{ status, reason, message string }

// told says how far a rollout is. It is True once all members are of the latest
// revision, be they well or not, as in metacontroller.
func (r *rollout) condition() condition {
	switch {
	case len(r.started) > 0:
		return condition{"False", reasonProgressing, "updating " + namesOf(r.started) + r.withheldMessage()}
	case r.blocker == nil:
		return condition{"True", reasonOnLatest, "latest ControllerRevision: " + r.updateRevision.name}
	default:
		return condition{"False", reasonWaiting, r.blocker.String() + r.withheldMessage()}
	}
}

// withheld names the members that are missing on purpose, with the way out.
func (r *rollout) withheldMessage() string {
	if len(r.withheld) == 0 {
		return ""
	}
	return fmt.Sprintf("; not made: %s, as %s and the hook wants no such child for an earlier ControllerRevision: "+
		"let the rollout go on, or leave the fields that scale out of revisionHistory.fieldPaths", namesOf(r.withheld), holdReason(r.withheld[0]))
}

// named lists the children, but for those that are too many.
func namesOf(members []*rollingChild) string {
	text := ""
	for i, m := range members {
		switch {
		case i == maxNamed:
			return fmt.Sprintf("%s and %d more", text, len(members)-maxNamed)
		case i > 0:
			text += ", "
		}
		text += m.key.String()
	}
	return text
}
