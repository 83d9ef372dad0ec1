package plan

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// settingAnnotations and settingFields, which are those of the spec, are for the host alone.
var (
	settingAnnotations = []string{v1alpha1.LogLevelAnnotation, v1alpha1.ApprovedRevisionAnnotation, v1alpha1.ApprovalReasonAnnotation,
		v1alpha1.RolloutRequestAnnotation}
	settingFields = []string{"scriptRollout", "deletionGuard"}
)

// withoutSettings drops what is for the host and no input of hooks. It changes the map that it is given, and none below.
func withoutSettings(definition map[string]any) {
	if spec := jsonvalue.AsObject(definition["spec"]); spec != nil {
		definition["spec"] = withoutAny(spec, settingFields)
	}
	metadata := jsonvalue.AsObject(definition["metadata"])
	annotations := jsonvalue.AsObject(metadata["annotations"])
	left := withoutAny(annotations, settingAnnotations)
	if len(left) == len(annotations) {
		return
	}
	metadata = maps.Clone(metadata)
	if metadata["annotations"] = left; len(left) == 0 {
		delete(metadata, "annotations")
	}
	definition["metadata"] = metadata
}

// withoutAny returns fields without those of the names: the map itself if it has none of them.
func withoutAny(fields map[string]any, names []string) map[string]any {
	if !slices.ContainsFunc(names, func(name string) bool { return fields[name] != nil }) {
		return fields
	}
	left := maps.Clone(fields)
	maps.DeleteFunc(left, func(name string, _ any) bool { return slices.Contains(names, name) })
	return left
}

// RunAlike reports whether a host runs two definitions in the same way, but for its settings.
func RunAlike(a, b *unstructured.Unstructured) bool {
	spec := func(d *unstructured.Unstructured) map[string]any {
		return withoutAny(jsonvalue.ObjectIn(d.Object, "spec"), settingFields)
	}
	return equality.Semantic.DeepEqual(spec(a), spec(b))
}
