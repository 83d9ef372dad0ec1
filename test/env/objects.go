package env

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// Apply applies YAML documents; objects without a namespace go to the test's. Definitions are removed at its end.
func (e *Env) Apply(documents string) {
	e.T.Helper()
	for _, document := range strings.Split(documents, "\n---\n") {
		e.ApplyObject(e.Parse(document))
	}
}

// ApplyObject is Apply for what is no text.
func (e *Env) ApplyObject(object *unstructured.Unstructured) {
	e.T.Helper()
	if err := e.Cluster.Apply(e.T.Context(), e.Namespace, object); err != nil {
		e.T.Fatal(err)
	}
	if object.GetKind() == "CompositeController" {
		e.T.Cleanup(func() { e.Delete(CompositeControllers, "", object.GetName()) })
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
	if err := json.Unmarshal(data, &object.Object); err != nil {
		e.T.Fatal(err)
	}
	return object
}

// In is a client for a resource in the test's namespace.
func (e *Env) In(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return e.Cluster.Dynamic().Resource(resource).Namespace(e.Namespace)
}

// Get gives an object of the test's namespace, or nil.
func (e *Env) Get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	e.T.Helper()
	object, err := e.In(resource).Get(e.T.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		e.T.Fatal(err)
	}
	return object
}

// List gives the objects of the test's namespace that a label selector matches, by name.
func (e *Env) List(resource schema.GroupVersionResource, selector string) map[string]*unstructured.Unstructured {
	e.T.Helper()
	list, err := e.In(resource).List(e.T.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		e.T.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		found[list.Items[i].GetName()] = &list.Items[i]
	}
	return found
}

// Must waits for an object of the test's namespace that passes a check.
func (e *Env) WaitFor(resource schema.GroupVersionResource, name string, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	e.T.Helper()
	var found *unstructured.Unstructured
	cluster.Eventually(e.T, Timeout, func() error {
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

// Gone waits until there is no such object, or another of its name.
func (e *Env) WaitForDeletion(resource schema.GroupVersionResource, name string, uid types.UID) {
	e.T.Helper()
	cluster.Eventually(e.T, Timeout, func() error {
		if found := e.Get(resource, name); found != nil && (uid == "" || found.GetUID() == uid) {
			return fmt.Errorf("%s %s is still there", resource.Resource, name)
		}
		return nil
	})
}

// Patch merges a JSON patch into an object of the test's namespace.
func (e *Env) Patch(resource schema.GroupVersionResource, name, patch string, subresources ...string) {
	e.T.Helper()
	if _, err := e.In(resource).Patch(e.T.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		e.T.Fatal(err)
	}
}

// Remove deletes an object, if it is there, and does not wait.
func (e *Env) Delete(resource schema.GroupVersionResource, namespace, name string) {
	e.T.Helper()
	err := e.Cluster.Dynamic().Resource(resource).Namespace(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		e.T.Error(err)
	}
}

// CRD defines a kind in an API group, with a status subresource and with a spec and a status of any shape. Its resource
// is its name in lower case with an s.
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

// Quote makes text a string of JSON, and so of YAML.
func Quote(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// Indent moves a block of YAML one level in.
func Indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
