package related

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// namedBy returns a Customize of one entry with nameFrom, for gadgets unless resource is set.
func namedBy(t *testing.T, fieldPath, namespace string, resource schema.GroupVersionResource) *Customize {
	t.Helper()
	given := &v1alpha1.RelatedResourceRule{Namespace: namespace, NameFrom: &v1alpha1.NameSource{FieldPath: fieldPath}}
	rule, err := NewNamedRule(3, resource, given)
	if err != nil {
		t.Fatal(err)
	}
	return &Customize{Absent: true, Named: []NamedRule{rule}, Find: findNamed}
}

// findNamed finds gadgets, and nodes, which are in no namespace.
func findNamed(apiVersion, resource string) (discovery.Resource, error) {
	switch resource {
	case "gadgets":
		return parenttest.Gadgets, nil
	case "nodes":
		return discovery.Resource{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "nodes"}}, nil
	}
	return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource}
}

// parentOf returns a parent of a text in the namespace prod.
func parentOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	parent := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &parent.Object); err != nil {
		t.Fatal(err)
	}
	parent.SetNamespace("prod")
	return parent
}

func TestNamesInParent(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, path, parent string
		names                string // sorted
		problem              string
	}{
		"field":            {"it is one name", "spec.secretName", `{spec: {secretName: db}}`, "db", ""},
		"of the object":    {"the object with the parent's own name", "metadata.name", `{metadata: {name: a}}`, "a", ""},
		"annotation":       {"a key with dots is in quotes", "metadata.annotations['example.com/secret']", `{metadata: {annotations: {example.com/secret: db}}}`, "db", ""},
		"list":             {"each item names one, and equal ones are one", "spec.pull[*].name", `{spec: {pull: [{name: b}, {name: a}, {}, {name: b}]}}`, "a b", ""},
		"lists in a list":  {"as in a Pod", "spec.containers[*].envFrom[*].secretRef.name", `{spec: {containers: [{envFrom: [{secretRef: {name: a}}, {configMapRef: {name: x}}]}, {}, {envFrom: [{secretRef: {name: b}}]}]}}`, "a b", ""},
		"list of names":    {"the items are the names", "spec.names[*]", `{spec: {names: [b, a]}}`, "a b", ""},
		"nothing":          {"a field may be optional", "spec.secretName", `{}`, "", ""},
		"null":             {"it is as good as none", "spec.secretName", `{spec: null}`, "", ""},
		"empty":            {"so is an empty string, which Kubernetes has for none", "spec.secretName", `{spec: {secretName: ""}}`, "", ""},
		"number":           {"no name", "spec.secretName", `{spec: {secretName: 1}}`, "", "spec.relatedResources[3].nameFrom: spec.secretName of the parent must be the name of an object, a string, but is a number: change the parent, or the path spec.secretName"},
		"number in a list": {"its index is told", "spec.pull[*].name", `{spec: {pull: [{name: a}, {name: {}}]}}`, "", "spec.relatedResources[3].nameFrom: spec.pull[1].name of the parent must be the name of an object, a string, but is an object: change the parent, or the path spec.pull[*].name"},
		"no list":          {"the path is wrong", "spec.pull[*].name", `{spec: {pull: {name: a}}}`, "", "spec.relatedResources[3].nameFrom: spec.pull of the parent must be a list, but is an object: change the parent, or the path spec.pull[*].name"},
		"no object":        {"the other way round", "spec.pull.name", `{spec: {pull: [{name: a}]}}`, "", "spec.relatedResources[3].nameFrom: spec.pull of the parent must be an object, but is a list: change the parent, or the path spec.pull.name"},
		"with a namespace": {"no object can have the name", "spec.secretName", `{spec: {secretName: kube-system/token}}`, "", "spec.relatedResources[3].nameFrom: spec.secretName of the parent is no name of an object, which may not contain '/': change it in the parent"},
		"above":            {"nor this one, which leads elsewhere in a URL", "spec.secretName", `{spec: {secretName: ..}}`, "", "spec.relatedResources[3].nameFrom: spec.secretName of the parent is no name of an object, which may not be '..': change it in the parent"},
		"many names":       {"they are limited as those of hooks", "spec.names[*]", "{spec: {names: [" + manyNames(maxRelatedTerms+1) + "]}}", "", "spec.relatedResources[3].nameFrom: the rules of a parent may have at most 10000 names"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			rules, kinds, err := namedBy(t, tc.path, "", parenttest.Gadgets.GroupVersionResource).NamedRules(parentOf(t, tc.parent), findNamed)
			if tc.problem != "" {
				if err == nil || !strings.HasPrefix(err.Error(), tc.problem) || !variant.IsLasting(err) {
					t.Errorf("error %v, want %q, which lasts", err, tc.problem)
				}
				return
			}
			var names []string
			for _, rule := range rules {
				names = append(names, rule.Names()...)
				if rule.namespace != "prod" || len(rule.names) == 0 {
					t.Errorf("a rule for %q in %q: what has no name must have none, and the rest is beside the parent", rule.Names(), rule.namespace)
				}
			}
			if got := strings.Join(names, " "); err != nil || got != tc.names || !slices.Equal(kinds, []schema.GroupVersionKind{parenttest.Gadgets.Kind}) {
				t.Errorf("names %q of %v, error %v, want %q", got, kinds, err, tc.names)
			}
		})
	}
}

func manyNames(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("n%d", i)
	}
	return strings.Join(all, ", ")
}

// TestNamedScope checks in which namespace named objects are.
func TestNamedScope(t *testing.T) {
	nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
	gadgets := parenttest.Gadgets.GroupVersionResource
	inProd, inNone := parentOf(t, `{spec: {of: a}}`), parentOf(t, `{spec: {of: a}}`)
	inNone.SetNamespace("")
	for name, tc := range map[string]struct {
		resource   schema.GroupVersionResource
		namespace  string
		namespaced bool // the definition
		parent     *unstructured.Unstructured
		want       string
		problem    string
	}{
		"beside the parent":             {gadgets, "", false, inProd, "prod", ""},
		"elsewhere":                     {gadgets, "shared", false, inProd, "shared", ""},
		"of a cluster-scoped parent":    {gadgets, "shared", false, inNone, "shared", ""},
		"nowhere":                       {gadgets, "", false, inNone, "", "gadgets are in a namespace, and parents without one do not say in which: set namespace"},
		"cluster-scoped":                {nodes, "", false, inProd, "", ""},
		"of a namespaced definition":    {gadgets, "", true, inProd, "prod", ""},
		"outside of it":                 {gadgets, "shared", true, inProd, "", `namespace: is "shared", and a definition with a namespace sees`},
		"cluster-scoped, outside of it": {nodes, "", true, inProd, "", "resource: nodes are in no namespace, and a definition with a namespace sees only its own"},
		"not served":                    {nodes.GroupVersion().WithResource("nonsuches"), "", false, inProd, "", `the API server has no resource "nonsuches"`},
	} {
		t.Run(name, func(t *testing.T) {
			c := namedBy(t, "spec.of", tc.namespace, tc.resource)
			c.Namespaced = tc.namespaced
			selected, err := c.Selections(tc.parent, nil)
			if tc.problem != "" {
				if err == nil || !strings.HasPrefix(err.Error(), "spec.relatedResources[3].nameFrom: "+tc.problem) {
					t.Errorf("error %v, want %q", err, tc.problem)
				}
				return
			}
			if err != nil || len(selected) != 1 || selected[0].Namespace != tc.want || !slices.Equal(selected[0].Names, []string{"a"}) {
				t.Errorf("selections %+v, error %v, want a in %q", selected, err, tc.want)
			}
		})
	}
}

// TestNamedBesideHook has a hook that may ask for nothing ask for what the parent names, and for something else.
func TestNamedBesideHook(t *testing.T) {
	c := namedBy(t, "spec.of", "", parenttest.Gadgets.GroupVersionResource)
	c.Absent, c.Limits = false, Limits{Declared: []DeclaredRule{}}
	for name, answer := range map[string]map[string]any{
		"the same": {"apiVersion": "example.com/v1", "resource": "gadgets", "namespace": "prod", "names": []any{"a"}},
		"more":     {"apiVersion": "example.com/v1", "resource": "gadgets"},
	} {
		body := map[string]any{"relatedResources": []any{answer}}
		if _, err := c.Selections(parentOf(t, `{spec: {of: a}}`), body); err == nil || !strings.Contains(err.Error(), "declares no gadgets") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// TestNamePaths checks which paths are none. The API server refuses them, unless they were stored before.
func TestNamePaths(t *testing.T) {
	for path, want := range map[string]bool{
		"spec.a": true, "spec['a.b'].c[*]": true, "a": true, "a-b.c_d": true,
		"": false, "spec..a": false, "spec.a[0]": false, "spec.a.": false, "$.spec": false, "spec['']": false, "spec.*": false,
	} {
		given := &v1alpha1.RelatedResourceRule{NameFrom: &v1alpha1.NameSource{FieldPath: path}}
		_, err := NewNamedRule(0, schema.GroupVersionResource{}, given)
		if (err == nil) != want || err != nil && !strings.Contains(err.Error(), "is no path: write one such as spec.secretName") {
			t.Errorf("%q: error %v, want a path: %v", path, err, want)
		}
	}
}

// TestNamedInputs checks what of a parent counts beside its spec.
func TestNamedInputs(t *testing.T) {
	for path, want := range map[string]answers.Inputs{
		"spec.a": 0, "metadata.name": 0, "metadata.labels.app": answers.ReadLabels, "status.binding.name": answers.ReadStatus,
		"metadata.annotations['example.com/secret']": answers.ReadAnnotations,
	} {
		if got := namedBy(t, path, "", schema.GroupVersionResource{}).NamedInputs(); got != want {
			t.Errorf("%s: inputs %b, want %b", path, got, want)
		}
	}
}
