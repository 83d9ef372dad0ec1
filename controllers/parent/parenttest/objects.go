// Package parenttest has objects and errors for the tests of controllers/parent and of the packages
// below it.
package parenttest

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Object makes an object of kind Pod in namespace default.
func Object(name string, with ...func(map[string]any)) *unstructured.Unstructured {
	metadata := map[string]any{"name": name, "namespace": "default", "uid": name + "-uid", "resourceVersion": "1"}
	for _, f := range with {
		f(metadata)
	}
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata}}
}

// Labelled sets the label app in metadata.
func Labelled(value string) func(map[string]any) {
	return func(m map[string]any) { m["labels"] = map[string]any{"app": value} }
}

// OwnedBy sets a controller owner in metadata.
func OwnedBy(uid string) func(map[string]any) {
	return func(m map[string]any) {
		m["ownerReferences"] = []any{map[string]any{
			"apiVersion": "v1", "kind": "Parent", "name": "p", "uid": uid, "controller": true,
		}}
	}
}

// Deleting sets the time of deletion in metadata.
func Deleting(m map[string]any) { m["deletionTimestamp"] = "2026-01-02T03:04:05Z" }

// Names returns the names of objects.
func Names(objects []*unstructured.Unstructured) []string {
	var result []string
	for _, o := range objects {
		result = append(result, o.GetName())
	}
	return result
}

// ParentOf returns a parent that was created some seconds after the beginning of time.
func ParentOf(uid string, created int64) *unstructured.Unstructured {
	parent := &unstructured.Unstructured{Object: map[string]any{}}
	parent.SetUID(types.UID(uid))
	parent.SetCreationTimestamp(metav1.Unix(created, 0))
	return parent
}

// AtVersion sets the resource version in metadata.
func AtVersion(v string) func(map[string]any) {
	return func(m map[string]any) { m["resourceVersion"] = v }
}

// WithUID sets the UID in metadata.
func WithUID(uid string) func(map[string]any) {
	return func(m map[string]any) { m["uid"] = uid }
}

// ThingKind is the kind of parents.
var ThingKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// ThingResource returns the resource of Things.
func ThingResource(custom, hasStatus bool) discovery.Resource {
	return discovery.Resource{
		GroupVersionResource: ThingKind.GroupVersion().WithResource("things"), Kind: ThingKind, HasStatus: hasStatus, Custom: custom,
	}
}

// ThingWith returns a Thing with a status in YAML, or without one.
func ThingWith(t *testing.T, status string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a"},
	}}
	if status != "" {
		object.Object["status"] = StatusIn(t, status)
	}
	return object
}

// StatusIn returns a status from YAML.
func StatusIn(t *testing.T, text string) map[string]any {
	t.Helper()
	var status map[string]any
	if err := yaml.Unmarshal([]byte(text), &status); err != nil {
		t.Fatal(err)
	}
	return status
}

// ThingKey returns the key of a Thing.
func ThingKey(name string) controller.Key {
	return controller.Key{Kind: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Thing"}, Namespace: "x", Name: name}
}
