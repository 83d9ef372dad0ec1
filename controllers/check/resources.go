package check

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// resources are the resources that are known: built-in ones, and those of the CustomResourceDefinitions among the files.
type resources struct {
	known  map[schema.GroupVersionResource]discovery.Resource
	groups map[string]bool
	crds   []*manifest.CRD
}

// others are resources of API servers that client-go has no types for.
var others = map[schema.GroupVersion]map[string]string{
	{Group: "apiextensions.k8s.io", Version: "v1"}:   {"customresourcedefinitions": "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Version: "v1"}: {"apiservices": "APIService"},
	v1alpha1.GroupVersion: {
		"compositecontrollers": v1alpha1.CompositeControllerKind, "decoratorcontrollers": v1alpha1.DecoratorControllerKind,
		"mapcontrollers": v1alpha1.MapControllerKind,
	},
}

func newResources(set *manifest.Set) *resources {
	r := &resources{known: map[schema.GroupVersionResource]discovery.Resource{}, groups: map[string]bool{}, crds: set.CRDs}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if kind.Version != "__internal" && !strings.HasSuffix(kind.Kind, "List") && !strings.HasSuffix(kind.Kind, "Options") {
			plural, _ := meta.UnsafeGuessKindToResource(kind)
			r.put(discovery.Resource{GroupVersionResource: plural, Kind: kind, Namespaced: true, HasStatus: true})
		}
	}
	for gv, kinds := range others {
		for plural, kind := range kinds {
			r.put(discovery.Resource{GroupVersionResource: gv.WithResource(plural), Kind: gv.WithKind(kind), HasStatus: true})
		}
	}
	for _, resource := range slices.Concat(memcluster.BuiltIn(), set.Resources()) {
		r.put(resource.Resource)
	}
	return r
}

// Kinds returns a function that finds the kind of a resource, by apiVersion and plural, among the built-in ones and those of the
// CustomResourceDefinitions of a set. It reports whether the kind is known.
func Kinds(set *manifest.Set) func(apiVersion, resource string) (schema.GroupVersionKind, bool) {
	known := newResources(set)
	return func(apiVersion, resource string) (schema.GroupVersionKind, bool) {
		found, ok, _ := known.find(apiVersion, resource)
		return found.Kind, ok
	}
}

func (r *resources) put(resource discovery.Resource) {
	r.known[resource.GroupVersionResource] = resource
	r.groups[resource.Group] = true
}

// find returns a resource by apiVersion and plural. It is an error if the group is known and does not have it.
func (r *resources) find(apiVersion, resource string) (found discovery.Resource, known bool, err error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return discovery.Resource{}, false, err
	}
	found, known = r.known[gv.WithResource(resource)]
	if !known && r.groups[gv.Group] {
		err = fmt.Errorf("there is no resource %q in %q: %s", resource, apiVersion, r.hint(gv, resource))
	}
	return found, known, err
}

// findOrAssume returns a resource, or one that is assumed to exist, so that the rest of a definition can be checked.
func (r *resources) findOrAssume(apiVersion, resource string) (discovery.Resource, error) {
	if found, known, _ := r.find(apiVersion, resource); known {
		return found, nil
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	return discovery.Resource{
		GroupVersionResource: gv.WithResource(resource), Kind: gv.WithKind(resource), Namespaced: true, HasStatus: true, Custom: true,
	}, err
}

// maxHinted is how many resources a hint lists.
const maxHinted = 10

// hint returns which resource may be meant.
func (r *resources) hint(gv schema.GroupVersion, resource string) string {
	if hint := discovery.Hint(gv.String(), resource, maps.Values(r.known)); hint != "" {
		return hint
	}
	var plurals []string
	for gvr := range r.known {
		if gvr.GroupVersion() == gv {
			plurals = append(plurals, gvr.Resource)
		}
	}
	slices.Sort(plurals)
	switch {
	case len(plurals) == 0:
		return "the version is not served"
	case len(plurals) > maxHinted:
		return "is it spelled right, and the lower-case plural?"
	default:
		return "there are " + strings.Join(plurals, ", ")
	}
}

// resourceRule is a rule of a definition that names a resource.
type resourceRule struct{ apiVersion, resource, field string }

// resourceRules returns the rules of a definition that name a resource.
func resourceRules(definition *document.Object) []resourceRule {
	var all []resourceRule
	add := func(field string, rule any) {
		fields, _ := rule.(map[string]any)
		apiVersion, _ := fields["apiVersion"].(string)
		if resource, _ := fields["resource"].(string); resource != "" && apiVersion != "" {
			all = append(all, resourceRule{apiVersion, resource, field})
		}
	}
	spec, _, _ := unstructured.NestedMap(definition.Object, "spec")
	add("spec.parentResource", spec["parentResource"])
	for _, field := range []string{"resources", "childResources", "attachments", "inputResources", "outputResources"} {
		rules, _ := spec[field].([]any)
		for i, rule := range rules {
			add(fmt.Sprintf("spec.%s[%d]", field, i), rule)
		}
	}
	return all
}

// prunesSelector reports whether objects of a kind can't have a spec.selector: their schema has none.
func (r *resources) prunesSelector(kind schema.GroupVersionKind) bool {
	for _, crd := range r.crds {
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
