package world

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
func (w *World) Apply(documents string) {
	w.T.Helper()
	for _, document := range strings.Split(documents, "\n---\n") {
		w.ApplyObject(w.Parse(document))
	}
}

// ApplyObject is Apply for what is no text.
func (w *World) ApplyObject(object *unstructured.Unstructured) {
	w.T.Helper()
	if err := w.Cluster.Apply(w.T.Context(), w.Namespace, object); err != nil {
		w.T.Fatal(err)
	}
	if object.GetKind() == "CompositeController" {
		w.T.Cleanup(func() { w.Remove(Composites, "", object.GetName()) })
	}
}

// Parse reads one YAML document.
func (w *World) Parse(document string) *unstructured.Unstructured {
	w.T.Helper()
	data, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		w.T.Fatalf("%v in\n%s", err, document)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(data, &object.Object); err != nil {
		w.T.Fatal(err)
	}
	return object
}

// In is a client for a resource in the test's namespace.
func (w *World) In(resource schema.GroupVersionResource) dynamic.ResourceInterface {
	return w.Cluster.Dynamic().Resource(resource).Namespace(w.Namespace)
}

// Get gives an object of the test's namespace, or nil.
func (w *World) Get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	w.T.Helper()
	object, err := w.In(resource).Get(w.T.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return object
}

// List gives the objects of the test's namespace that a label selector matches, by name.
func (w *World) List(resource schema.GroupVersionResource, selector string) map[string]*unstructured.Unstructured {
	w.T.Helper()
	list, err := w.In(resource).List(w.T.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		w.T.Fatal(err)
	}
	found := map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		found[list.Items[i].GetName()] = &list.Items[i]
	}
	return found
}

// Must waits for an object of the test's namespace that passes a check.
func (w *World) Must(resource schema.GroupVersionResource, name string, check func(*unstructured.Unstructured) error) *unstructured.Unstructured {
	w.T.Helper()
	var found *unstructured.Unstructured
	cluster.Eventually(w.T, Soon, func() error {
		if found = w.Get(resource, name); found == nil {
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
func (w *World) Gone(resource schema.GroupVersionResource, name string, uid types.UID) {
	w.T.Helper()
	cluster.Eventually(w.T, Soon, func() error {
		if found := w.Get(resource, name); found != nil && (uid == "" || found.GetUID() == uid) {
			return fmt.Errorf("%s %s is still there", resource.Resource, name)
		}
		return nil
	})
}

// Patch merges a JSON patch into an object of the test's namespace.
func (w *World) Patch(resource schema.GroupVersionResource, name, patch string, subresources ...string) {
	w.T.Helper()
	if _, err := w.In(resource).Patch(w.T.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		w.T.Fatal(err)
	}
}

// Remove deletes an object, if it is there, and does not wait.
func (w *World) Remove(resource schema.GroupVersionResource, namespace, name string) {
	w.T.Helper()
	err := w.Cluster.Dynamic().Resource(resource).Namespace(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		w.T.Error(err)
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
