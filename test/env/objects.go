package env

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// Apply applies YAML documents. Objects without a namespace go to the test's. Definitions are deleted at the end of the test.
func (e *Env) Apply(documents string) {
	e.T.Helper()
	for document := range strings.SplitSeq(documents, "\n---\n") {
		e.ApplyObject(e.Parse(document))
	}
}

// ApplyObject applies an object as Apply does.
func (e *Env) ApplyObject(object *unstructured.Unstructured) {
	e.T.Helper()
	e.NoError(e.Cluster.Apply(e.T.Context(), e.Namespace, object))
	if kind := object.GroupVersionKind(); v1alpha1.IsDefinition(kind.GroupKind()) {
		namespace := ""
		if v1alpha1.IsNamespaced(kind.Group) {
			namespace = cmp.Or(object.GetNamespace(), e.Namespace)
		}
		e.T.Cleanup(func() { e.Delete(v1alpha1.DefinitionResource(kind), namespace, object.GetName()) })
	}
}

// Parse reads one YAML document.
func (e *Env) Parse(document string) *unstructured.Unstructured {
	e.T.Helper()
	data, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		e.T.Fatalf("%v in\n%s", err, document)
	}
	object := &unstructured.Unstructured{}
	e.NoError(json.Unmarshal(data, &object.Object))
	return object
}

// In returns a client for a resource in the test's namespace.
func (e *Env) In(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return e.Cluster.Dynamic().Resource(resource).Namespace(e.Namespace)
}

// Get returns an object of the test's namespace, or nil.
func (e *Env) Get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	e.T.Helper()
	object, err := e.In(resource).Get(e.T.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.NoError(err)
	return object
}

// List returns the objects of the test's namespace that a label selector matches, by name.
func (e *Env) List(resource schema.GroupVersionResource, selector string) map[string]*unstructured.Unstructured {
	e.T.Helper()
	list, err := e.In(resource).List(e.T.Context(), metav1.ListOptions{LabelSelector: selector})
	e.NoError(err)
	found := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		found[list.Items[i].GetName()] = &list.Items[i]
	}
	return found
}

// WaitFor waits for an object of the test's namespace that passes a check. Without a check it waits for the object.
func (e *Env) WaitFor(resource schema.GroupVersionResource, name string, check Check) *unstructured.Unstructured {
	e.T.Helper()
	var found *unstructured.Unstructured
	e.Eventually(func() error {
		if found = e.Get(resource, name); found == nil {
			return fmt.Errorf("no %s %s", resource.Resource, name)
		}
		if check == nil {
			return nil
		}
		return check(found)
	})
	return found
}

// WaitForDeletion waits until an object is gone. With a UID, another object of the same name may be there.
func (e *Env) WaitForDeletion(resource schema.GroupVersionResource, name string, uid types.UID) {
	e.T.Helper()
	e.Eventually(func() error {
		if found := e.Get(resource, name); found != nil && (uid == "" || found.GetUID() == uid) {
			return fmt.Errorf("%s %s is still there", resource.Resource, name)
		}
		return nil
	})
}

// Patch merges a JSON patch into an object of the test's namespace.
func (e *Env) Patch(resource schema.GroupVersionResource, name, patch string, subresources ...string) {
	e.T.Helper()
	_, err := e.In(resource).Patch(e.T.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	e.NoError(err)
}

// Delete deletes an object if it is there, and does not wait.
func (e *Env) Delete(resource schema.GroupVersionResource, namespace, name string) {
	e.T.Helper()
	err := e.Cluster.Dynamic().Resource(resource).Namespace(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		e.T.Error(err)
	}
}

// Resource returns the resource of a kind of the test's group.
func (e *Env) Resource(kind string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: e.Group, Version: "v1", Resource: strings.ToLower(kind) + "s"}
}

// Things returns the resource of Things.
func (e *Env) Things() schema.GroupVersionResource { return e.Resource("Thing") }

// ApplyThing applies a Thing as ApplyCustom does.
func (e *Env) ApplyThing(name, labels, spec string) *unstructured.Unstructured {
	e.T.Helper()
	return e.ApplyCustom("Thing", name, labels, spec)
}

// ApplyCustom applies an object of the test's group, with labels in YAML's flow style and the lines of its spec, and
// returns it as it is stored.
func (e *Env) ApplyCustom(kind, name, labels, spec string) *unstructured.Unstructured {
	e.T.Helper()
	e.Apply(fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata: {name: %q, labels: {%s}}\nspec:\n  given: true\n%s",
		e.Group, kind, name, labels, Indent(spec)))
	return e.Get(e.Resource(kind), name)
}

// ApplyConfigMap applies a ConfigMap with labels in YAML's flow style and data.text, and returns it as it is stored.
func (e *Env) ApplyConfigMap(name, labels, text string) *unstructured.Unstructured {
	e.T.Helper()
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %q, labels: {%s}}, data: {text: %q}}", name, labels, text))
	return e.Get(ConfigMaps, name)
}

// Names returns the names of the objects of the test's namespace that a label selector matches, in their order.
func (e *Env) Names(resource schema.GroupVersionResource, selector string) []string {
	e.T.Helper()
	return slices.Sorted(maps.Keys(e.List(resource, selector)))
}

// WaitForNames waits until a label selector matches just these objects.
func (e *Env) WaitForNames(resource schema.GroupVersionResource, selector string, want ...string) {
	e.T.Helper()
	e.Eventually(func() error {
		if got := e.Names(resource, selector); !slices.Equal(got, want) {
			return fmt.Errorf("%s with %s are %q, want %q", resource.Resource, selector, got, want)
		}
		return nil
	})
}

// WaitForCount waits until a label selector matches so many objects.
func (e *Env) WaitForCount(resource schema.GroupVersionResource, selector string, want int) {
	e.T.Helper()
	e.Eventually(func() error {
		if got := len(e.List(resource, selector)); got != want {
			return fmt.Errorf("there are %d %s with %s, want %d", got, resource.Resource, selector, want)
		}
		return nil
	})
}

// CRD returns a CustomResourceDefinition of a kind, with a status subresource and with a spec and a status of any shape.
// Its resource is its name in lower case with an s.
func CRD(group, kind, scope string) string {
	return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]ss.%[1]s}
spec:
  group: %[1]s
  scope: %[4]s
  names: {kind: %[2]s, plural: %[3]ss, singular: %[3]s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`, group, kind, strings.ToLower(kind), scope)
}

// Quote returns text as a string of JSON, and so of YAML.
func Quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Indent returns a block of YAML one level deeper.
func Indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
