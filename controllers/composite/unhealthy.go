package composite

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

const reasonNotUpdated = "is not updated yet"

// assess finds out whether a member is well. In the middle of an update is who
// is not there, or not as its revision wants it, and who is of the latest
// revision and not well again. Who is ill and is to keep an old revision counts
// as well: nobody waits for what nothing is done about.
func (m *rollingChild) assess(latest *revision) {
	m.unavailableReason = m.missingReason(m.revision == latest)
	m.updating = m.unavailableReason != ""
	if m.unavailableReason == "" && !m.withheld && (m.revision == latest || holdReason(m) == "") {
		m.unavailableReason = m.unhealthyReason()
		m.updating = m.unavailableReason != "" && m.revision == latest
	}
}

// absence says, as a predicate, what keeps the member from being as its revision
// wants it, or nothing.
func (m *rollingChild) missingReason(latest bool) string {
	switch {
	case m.withheld:
		return ""
	case m.observed == nil:
		return "is missing"
	case m.observed.GetDeletionTimestamp() != nil:
		return "is being deleted"
	case latest && !m.isUpdated, !latest && m.currentVersion != nil && !m.isCurrent:
		return reasonNotUpdated
	default:
		return ""
	}
}

// illness says what is wrong with a member that is there (section 3.9 of the
// specification), or nothing.
func (m *rollingChild) unhealthyReason() string {
	if m.strategy.Method == v1alpha1.ChildUpdateRollingInPlace {
		if observed, generation := observedGeneration(m.observed), m.observed.GetGeneration(); observed < generation {
			return fmt.Sprintf("has status.observedGeneration %d of %d", observed, generation)
		}
	}
	return failedCheck(m.strategy.StatusChecks.Conditions, m.observed)
}

// observedGeneration is the generation that the child's status is about. A child
// that does not tell is taken to be up to date.
func observedGeneration(child *unstructured.Unstructured) int64 {
	switch value := valueAt(child.Object, []string{"status", "observedGeneration"}).(type) {
	case int64:
		return value
	case float64:
		return int64(value)
	default:
		return child.GetGeneration()
	}
}

// failedCheck says which status check fails, or nothing.
func failedCheck(checks []v1alpha1.StatusConditionCheck, child *unstructured.Unstructured) string {
	conditions, _ := valueAt(child.Object, []string{"status", "conditions"}).([]any)
	for _, check := range checks {
		condition := conditionOf(conditions, check.Type)
		switch {
		case condition == nil:
			return fmt.Sprintf("has no condition %s yet", check.Type)
		case !matches(check.Status, condition["status"]):
			return fmt.Sprintf("has condition %s with status %v in place of %s", check.Type, condition["status"], *check.Status)
		case !matches(check.Reason, condition["reason"]):
			return fmt.Sprintf("has condition %s with reason %v in place of %s", check.Type, condition["reason"], *check.Reason)
		}
	}
	return ""
}

// conditionOf finds a condition by its type, or gives nil.
func conditionOf(conditions []any, kind string) map[string]any {
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok && fields["type"] == kind {
			return fields
		}
	}
	return nil
}

func matches(wanted *string, value any) bool { return wanted == nil || value == *wanted }
