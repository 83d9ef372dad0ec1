package composite

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

const reasonNotUpdated = "is not updated yet"

// assess sets updating and unavailableReason. A child is being updated while it is missing or
// not as its revision wants it, and while it is of the update revision and unhealthy. The
// health of a child that is held in an old revision does not count: nothing will repair it.
func (c *rollingChild) assess(update *revision) {
	c.unavailableReason = c.missingReason(c.revision == update)
	c.updating = c.unavailableReason != ""
	if c.unavailableReason == "" && !c.withheld && (c.revision == update || c.holdReason() == "") {
		c.unavailableReason = c.unhealthyReason()
		c.updating = c.unavailableReason != "" && c.revision == update
	}
}

// missingReason returns, as a predicate, why the child is not as its revision wants it, or "".
func (c *rollingChild) missingReason(update bool) string {
	switch {
	case c.withheld:
		return ""
	case c.observed == nil:
		return "is missing"
	case c.observed.GetDeletionTimestamp() != nil:
		return "is being deleted"
	case update && !c.isUpdated, !update && c.currentVersion != nil && !c.isCurrent:
		return reasonNotUpdated
	default:
		return ""
	}
}

// unhealthyReason returns why an existing child is unhealthy (section 3.9 of the
// specification), or "".
func (c *rollingChild) unhealthyReason() string {
	if c.strategy.Method == v1alpha1.ChildUpdateRollingInPlace {
		if observed, generation := observedGeneration(c.observed), c.observed.GetGeneration(); observed < generation {
			return fmt.Sprintf("has status.observedGeneration %d of %d", observed, generation)
		}
	}
	return failedCheck(c.strategy.StatusChecks.Conditions, c.observed)
}

// observedGeneration returns the child's status.observedGeneration, or its generation if it
// has none.
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

// failedCheck returns why the first status check fails, or "".
func failedCheck(checks []v1alpha1.StatusConditionCheck, child *unstructured.Unstructured) string {
	for _, check := range checks {
		condition := jsonvalue.Condition(child.Object, check.Type)
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

func matches(wanted *string, value any) bool { return wanted == nil || value == *wanted }
