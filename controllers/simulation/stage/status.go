package stage

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/fielddiff"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// StatusDiffs returns the fields of the status that differ. kind may be nil.
func StatusDiffs(kind *openapi.Kind, before, after *unstructured.Unstructured) []fielddiff.Diff {
	status := func(object *unstructured.Unstructured) *unstructured.Unstructured {
		fields, _ := object.Object["status"].(map[string]any)
		return &unstructured.Unstructured{Object: fields}
	}
	if kind != nil {
		kind = &openapi.Kind{Root: kind.Root.Field("status")}
	}
	diffs := fielddiff.Describe(kind, status(before), status(after))
	for i := range diffs {
		if diffs[i].Path != "" { // Without a path it is the number of those that are left out.
			diffs[i].Path = "status." + diffs[i].Path
		}
	}
	return diffs
}
