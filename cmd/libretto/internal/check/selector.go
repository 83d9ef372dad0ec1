package check

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// prunesSelector reports whether objects of a kind can't have a spec.selector: their schema has none.
func prunesSelector(set *manifest.Set, kind schema.GroupVersionKind) bool {
	for _, crd := range set.CRDs {
		versions, _, _ := unstructured.NestedSlice(crd.Unstructured.Object, "spec", "versions")
		for _, version := range versions {
			fields, _ := version.(map[string]any)
			name, _ := fields["name"].(string)
			if kind.Version != name || !slices.ContainsFunc(crd.Resources, func(m memcluster.Resource) bool { return m.Kind == kind }) {
				continue
			}
			root, _, _ := unstructured.NestedMap(fields, "schema", "openAPIV3Schema")
			spec, _, _ := unstructured.NestedMap(root, "properties", "spec")
			return !keepsUnknown(root) && !keepsUnknown(spec) && !has(spec, "selector")
		}
	}
	return false
}

func keepsUnknown(schema map[string]any) bool {
	keeps, _ := schema["x-kubernetes-preserve-unknown-fields"].(bool)
	_, additional := schema["additionalProperties"]
	return keeps || additional
}

func has(schema map[string]any, property string) bool {
	properties, _ := schema["properties"].(map[string]any)
	_, found := properties[property]
	return found
}
