package plan

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// LogLevel returns the verbosity that a definition's annotation asks for, and a warning if that is none. One that is too high means the
// highest, and anything else that is wrong the process's.
func LogLevel(object *unstructured.Unstructured) (int, []Warning) {
	value, asked := object.GetAnnotations()[v1alpha1.LogLevelAnnotation]
	if !asked {
		return 0, nil
	}
	level, err := strconv.Atoi(value)
	instead := "it is logged as if there were none"
	switch {
	case err != nil || level < verbosity.Events:
		level = verbosity.Events
	case level > verbosity.Values:
		level, instead = verbosity.Values, fmt.Sprintf("it is taken for %d", verbosity.Values)
	default:
		return level, nil
	}
	return level, []Warning{{Reason: ReasonInvalidLogLevel, Message: fmt.Sprintf(
		"annotation %s: %q is no level, and %s: write %d to log decisions and what scripts print, or %d to log changed fields and what hooks answer too",
		v1alpha1.LogLevelAnnotation, value, instead, verbosity.Decisions, verbosity.Values)}}
}
