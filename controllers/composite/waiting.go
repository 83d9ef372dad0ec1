package composite

import (
	"maps"
	"slices"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// wait completes a desired state in which a hook waits. Which children are of which revision stays as it is, and so does the
// condition Updated, unless a change of the parent is not rolled out: then it says that the rollout waits.
func (v *Variant) wait(desired *variant.Desired, h *history, observed variant.Observed) {
	desired.Children, desired.Warnings = nil, v.warnings(h)
	if desired.Status == nil || observed.BuiltIn && desired.Status["conditions"] == nil {
		return // The conditions belong to another controller, unless the hook sets them.
	}
	before := observedCondition(observed.Parent)
	if h.updateRevision.stored != nil && len(h.live()) == 1 {
		keepCondition(desired.Status, before)
		return
	}
	waits := condition{"False", reasonWaiting, "the hook waits: " + desired.Waiting.String()}
	setUpdatedCondition(desired.Status, waits, before, observed.Now, observed.Now)
}

// keepCondition adds the host's condition of the parent to a status that has no condition Updated.
func keepCondition(status, before map[string]any) {
	given, isList := status["conditions"].([]any)
	if before == nil || !isList && status["conditions"] != nil || slices.ContainsFunc(given, isUpdated) {
		return
	}
	status["conditions"] = append(slices.Clone(given), maps.Clone(before))
}
