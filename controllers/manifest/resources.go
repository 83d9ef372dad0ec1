package manifest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// KnownResources are the built-in resources, and those of the CustomResourceDefinitions among the files.
type KnownResources struct {
	known  map[schema.GroupVersionResource]discovery.Resource
	groups map[string]bool
	// unserved are versions of CustomResourceDefinitions that are not served.
	unserved map[schema.GroupVersion]bool
}

// others are resources of API servers that client-go has no types for.
var others = map[schema.GroupVersion]map[string]string{
	{Group: "apiextensions.k8s.io", Version: "v1"}:   {"customresourcedefinitions": "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Version: "v1"}: {"apiservices": "APIService"},
}

// clusterScoped are resources of client-go's types that are in no namespace, besides those that are on every cluster in memory.
var clusterScoped = []string{
	"certificatesigningrequests", "clustertrustbundles", "csidrivers", "csinodes", "deviceclasses", "flowschemas", "ipaddresses",
	"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations", "prioritylevelconfigurations",
	"resourceslices", "runtimeclasses", "servicecidrs", "storageversionmigrations", "storageversions", "validatingadmissionpolicies",
	"validatingadmissionpolicybindings", "validatingwebhookconfigurations", "volumeattachments", "volumeattributesclasses",
}

// Known returns the resources that are known.
func (s *Set) Known() *KnownResources {
	r := &KnownResources{known: map[schema.GroupVersionResource]discovery.Resource{}, groups: map[string]bool{},
		unserved: map[schema.GroupVersion]bool{}}
	for kind := range scheme.Scheme.AllKnownTypes() {
		if kind.Version != "__internal" && !isRemoved(kind) && !strings.HasSuffix(kind.Kind, "List") && !strings.HasSuffix(kind.Kind, "Options") {
			plural, _ := meta.UnsafeGuessKindToResource(kind)
			r.put(discovery.Resource{
				GroupVersionResource: plural, Kind: kind, Namespaced: !slices.Contains(clusterScoped, plural.Resource), HasStatus: true,
			})
		}
	}
	for gv, kinds := range others {
		for plural, kind := range kinds {
			r.put(discovery.Resource{GroupVersionResource: gv.WithResource(plural), Kind: gv.WithKind(kind), HasStatus: true})
		}
	}
	for _, kind := range v1alpha1.DefinitionTypes() {
		r.put(discovery.Resource{
			GroupVersionResource: v1alpha1.DefinitionResource(kind), Kind: kind, HasStatus: true, Namespaced: v1alpha1.IsNamespaced(kind.Group),
		})
	}
	for _, resource := range slices.Concat(memcluster.BuiltIn(), s.Resources()) {
		r.put(resource.Resource)
	}
	for _, crd := range s.CRDs { // Of which no version may be served.
		group, _, _ := unstructured.NestedString(crd.Unstructured.Object, "spec", "group")
		r.groups[group] = true
		versions, _, _ := unstructured.NestedSlice(crd.Unstructured.Object, "spec", "versions")
		for _, version := range versions {
			fields := jsonvalue.AsObject(version)
			if name, _ := fields["name"].(string); fields["served"] == false {
				r.unserved[schema.GroupVersion{Group: group, Version: name}] = true
			}
		}
	}
	return r
}

// oldestMinor is the minor version of the oldest Kubernetes that is tested.
const oldestMinor = 33

// isRemoved reports whether Kubernetes serves a kind no more that there are types for.
func isRemoved(kind schema.GroupVersionKind) bool {
	typed, err := scheme.Scheme.New(kind)
	removed, ends := typed.(interface{ APILifecycleRemoved() (major, minor int) })
	if err != nil || !ends {
		return false
	}
	_, minor := removed.APILifecycleRemoved()
	return minor <= oldestMinor
}

// Kind returns the kind of a resource, by apiVersion and plural. It reports whether it is known.
func (r *KnownResources) Kind(apiVersion, resource string) (schema.GroupVersionKind, bool) {
	found, known, _ := r.Find(apiVersion, resource)
	return found.Kind, known
}

func (r *KnownResources) put(resource discovery.Resource) {
	r.known[resource.GroupVersionResource] = resource
	r.groups[resource.Group] = true
}

// Find returns a resource by apiVersion and plural. It is an error if the group is known and does not have it.
func (r *KnownResources) Find(apiVersion, resource string) (found discovery.Resource, known bool, err error) {
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

// Elsewhere returns that a resource is in another apiVersion than the one that is named, or "".
func (r *KnownResources) Elsewhere(apiVersion, resource string) string {
	return discovery.Hint(apiVersion, resource, maps.Values(r.known))
}

// FindOrAssume returns a resource, or one that is assumed to exist, so that the rest of a definition can be checked.
func (r *KnownResources) FindOrAssume(apiVersion, resource string) (discovery.Resource, error) {
	if found, known, _ := r.Find(apiVersion, resource); known {
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
func (r *KnownResources) hint(gv schema.GroupVersion, resource string) string {
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
	case r.unserved[gv]:
		return "the version is not served: set served: true in its CustomResourceDefinition, or name another version"
	case len(plurals) == 0:
		return "there is no such version: " + r.versions(gv.Group)
	case len(plurals) > maxHinted:
		return "is it spelled right, and the lower-case plural?"
	case !scheme.Scheme.IsGroupRegistered(gv.Group):
		return "there are " + strings.Join(plurals, ", ") + ": give its CustomResourceDefinition with -f"
	default:
		return "there are " + strings.Join(plurals, ", ")
	}
}

// versions lists those that a group has.
func (r *KnownResources) versions(group string) string {
	var names []string
	for gvr := range r.known {
		if gvr.Group == group {
			names = append(names, gvr.GroupVersion().String())
		}
	}
	return spelling.List(names)
}

// NoDefinition says that there is no definition among the files, with the first object that was meant to be one.
func (s *Set) NoDefinition() string {
	const none = "there is no CompositeController, DecoratorController or MapController among the files: "
	kinds := v1alpha1.DefinitionKinds
	for _, o := range s.Objects {
		meant := spelling.Meant(o.GetKind(), kinds)
		if slices.Contains(kinds, o.GetKind()) {
			meant = fmt.Sprintf("apiVersion is %s, and must be %s, or with a namespace %s",
				o.GetAPIVersion(), v1alpha1.GroupVersion, v1alpha1.NamespacedGroupVersion)
		}
		if meant != "" {
			return fmt.Sprintf("%s%s: %s %s: %s", none, o.Location, o.GetKind(), o.GetName(), meant)
		}
	}
	return none + s.empty() + "give one with -f"
}

// empty says of the first file that is empty that it is, or nothing.
func (s *Set) empty() string {
	for _, name := range s.Inputs {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			return name + " is empty: "
		}
	}
	return ""
}

// ResourceRule is a rule of a definition that names a resource.
type ResourceRule struct{ APIVersion, Resource, Field string }

// ResourceRules returns the rules of a definition that name a resource.
func ResourceRules(definition *document.Object) []ResourceRule {
	var all []ResourceRule
	add := func(field string, rule any) {
		fields, _ := rule.(map[string]any)
		apiVersion, _ := fields["apiVersion"].(string)
		if resource, _ := fields["resource"].(string); resource != "" && apiVersion != "" {
			all = append(all, ResourceRule{apiVersion, resource, field})
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

// Assume returns the resources that a definition names and that a cluster with the built-in resources and others lacks. Those that are
// assumed are of groups of which nothing is known: they are taken to be namespaced, with a status.
func (s *Set) Assume(definition *document.Object, others []memcluster.Resource) (built, assumed []memcluster.Resource) {
	known, served := s.Known(), map[schema.GroupVersionResource]bool{}
	for _, resource := range slices.Concat(memcluster.BuiltIn(), others) {
		served[resource.GroupVersionResource] = true
	}
	for _, rule := range ResourceRules(definition) {
		found, isKnown, err := known.Find(rule.APIVersion, rule.Resource)
		gv, malformed := schema.ParseGroupVersion(rule.APIVersion)
		if err != nil || malformed != nil || served[gv.WithResource(rule.Resource)] {
			continue // What does not exist is refused by the planner.
		}
		served[gv.WithResource(rule.Resource)] = true
		if isKnown {
			built = append(built, memcluster.Resource{Resource: found, Generation: true})
		} else if resource, err := memcluster.Custom(rule.APIVersion, s.kindOf(gv, rule.Resource), rule.Resource, true, true); err == nil {
			assumed = append(assumed, resource)
		}
	}
	return built, assumed
}

// kindName matches what may be the name of a kind.
var kindName = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]+\b`)

// kindOf returns the kind of a resource of which nothing but its plural is known: a word of the scripts with that plural, or else the
// singular.
func (s *Set) kindOf(gv schema.GroupVersion, resource string) string {
	texts := func(yield func(string) bool) {
		for _, definition := range s.Definitions {
			if text, err := json.Marshal(definition.Object["spec"]); err == nil && !yield(string(text)) { // With inline scripts.
				return
			}
		}
		for _, name := range s.ConfigMaps() {
			for _, key := range slices.Sorted(maps.Keys(s.configMaps[name].data)) {
				if !yield(s.configMaps[name].data[key]) {
					return
				}
			}
		}
	}
	for text := range texts {
		for _, word := range kindName.FindAllString(text, -1) {
			if plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(word)); plural.Resource == resource {
				return word
			}
		}
	}
	singular := strings.TrimSuffix(resource, "s")
	if stem, is := strings.CutSuffix(resource, "ies"); is {
		singular = stem + "y"
	}
	return strings.ToUpper(singular[:1]) + singular[1:]
}

// Unvalidated returns the warning about a resource that is assumed, with how its CustomResourceDefinition is given.
func Unvalidated(resource memcluster.Resource, advice string) string {
	return fmt.Sprintf("%s of %s: nothing is validated and no defaults are known: %s", resource.Kind.Kind, resource.Kind.GroupVersion(),
		advice)
}

// All returns the resources that are known.
func (r *KnownResources) All() []discovery.Resource { return slices.Collect(maps.Values(r.known)) }
