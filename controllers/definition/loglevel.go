package definition

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/verbosity"
)

// reasonInvalidLogLevel is the reason of the warning about a definition's annotation.
const reasonInvalidLogLevel = "InvalidLogLevel"

// logLevel returns the verbosity that a definition's annotation asks for, and a warning if that is none. One that is too high means the
// highest, and anything else that is wrong the process's.
func logLevel(object *unstructured.Unstructured) (int, []warning) {
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
	return level, []warning{{reasonInvalidLogLevel, fmt.Sprintf(
		"annotation %s: %q is no level, and %s: write %d to log decisions and what scripts print, or %d to log changed fields and what hooks answer too",
		v1alpha1.LogLevelAnnotation, value, instead, verbosity.Decisions, verbosity.Values)}}
}

// settingAnnotations are for the host alone.
var settingAnnotations = []string{v1alpha1.LogLevelAnnotation, v1alpha1.ApprovedRevisionAnnotation, v1alpha1.ApprovalReasonAnnotation, v1alpha1.RolloutRequestAnnotation}

// withoutSettings drops what is for the host and no input of hooks: spec.scriptRollout, and settingAnnotations. It changes the map that it is
// given, and none below.
func withoutSettings(definition map[string]any) {
	if spec := jsonvalue.AsObject(definition["spec"]); spec["scriptRollout"] != nil {
		spec = maps.Clone(spec)
		delete(spec, "scriptRollout")
		definition["spec"] = spec
	}
	metadata := jsonvalue.AsObject(definition["metadata"])
	annotations := jsonvalue.AsObject(metadata["annotations"])
	if !slices.ContainsFunc(settingAnnotations, func(name string) bool { return annotations[name] != nil }) {
		return
	}
	metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
	maps.DeleteFunc(annotations, func(name string, _ any) bool { return slices.Contains(settingAnnotations, name) })
	if metadata["annotations"] = annotations; len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	definition["metadata"] = metadata
}
