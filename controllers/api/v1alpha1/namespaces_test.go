package v1alpha1

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestSetNamespaces gives all references of a definition its own namespace, whatever they had, and those of no other definition.
func TestSetNamespaces(t *testing.T) {
	const spec = `
  serviceAccountRef: {name: robot, namespace: other}
  scriptSources: [{configMap: {name: a}}, {configMap: {name: b, namespace: other}}]
  endpointConfigs: [{host: a, authorization: {serviceAccountToken: {serviceAccountRef: {name: a}, audience: a}}}]
  relatedResources: [{apiVersion: v1, resource: secrets}]
  parentResource: {labelSelector: {matchLabels: {namespace: label}}}
  scriptRollout: {steps: [{analysis: [{job: {cronJob: a}}, {cel: "true"}]}]}
  hooks:
    sync: {webhook: {service: {name: a}, caBundle: {secretRef: {name: a}}, basicAuth: {secretRef: {name: a}}}}
    map: {script: {parameters: {namespace: kept, secretRef: {name: kept}}}}
    finalize: "no object"`
	parse := func(apiVersion, namespace string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{}
		text := "apiVersion: " + apiVersion + "\nkind: CompositeController\nmetadata: {name: web" + namespace + "}\nspec:" + spec
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		return object
	}
	given := parse("libretto.dev/v1alpha1", ", namespace: shop")
	got := SetNamespaces(given)
	text, err := json.Marshal(got.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), `"namespace":"shop"`); n != 8 || strings.Contains(string(text), "other") {
		t.Errorf("%d references are in the namespace, want 8: %s", n, text)
	}
	if n := strings.Count(string(text), `"namespace":`); n != 10 { // A label and a parameter.
		t.Errorf("%d fields have the name, want 10: %s", n, text)
	}
	if diff := cmp.Diff(parse("libretto.dev/v1alpha1", ", namespace: shop"), given); diff != "" {
		t.Errorf("the definition was changed:\n%s", diff)
	}
	for _, other := range []*unstructured.Unstructured{parse("metacontroller.k8s.io/v1alpha1", ""), parse("libretto.dev/v1alpha1", "")} {
		if got := SetNamespaces(other); got != other {
			t.Errorf("%v was changed", other.Object)
		}
	}
	delete(given.Object["spec"].(map[string]any), "serviceAccountRef")
	account, _, _ := unstructured.NestedStringMap(SetNamespaces(given).Object, "spec", "serviceAccountRef")
	if diff := cmp.Diff(map[string]string{"namespace": "shop", "name": "default"}, account); diff != "" {
		t.Errorf("the account is:\n%s", diff)
	}
}

// TestUniqueNames has no two definitions share what they mark objects with.
func TestUniqueNames(t *testing.T) {
	seen := map[string]string{}
	for _, name := range [][2]string{{"", "web"}, {"shop", "web"}, {"shop-web", "a"}, {"shop", "web-a"}, {"", "shop.web"}, {"", "shop-web"}} {
		object := &unstructured.Unstructured{}
		object.SetNamespace(name[0])
		object.SetName(name[1])
		unique := UniqueName(object)
		if before := seen[unique]; before != "" {
			t.Errorf("%v and %s are both %s", name, before, unique)
		}
		seen[unique] = name[0] + "/" + name[1]
	}
}

// TestArgumentOf names definitions as kubectl and the commands know them.
func TestArgumentOf(t *testing.T) {
	for want, namespace := range map[string]string{"mapcontroller/web": "", "namespacedmapcontroller/web -n shop": "shop"} {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(GroupVersion.WithKind(MapControllerKind))
		if namespace != "" {
			object.SetGroupVersionKind(NamespacedGroupVersion.WithKind(MapControllerKind))
		}
		object.SetNamespace(namespace)
		object.SetName("web")
		if got := ArgumentOf(object); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
