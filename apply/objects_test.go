package apply

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

var (
	podRule = Rule{
		Kind:       schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Resource:   schema.GroupVersionResource{Version: "v1", Resource: "pods"},
		Namespaced: true,
		Method:     InPlace,
	}
	serviceRule = Rule{
		Kind:       schema.GroupVersionKind{Version: "v1", Kind: "Service"},
		Resource:   schema.GroupVersionResource{Version: "v1", Resource: "services"},
		Namespaced: true,
		Method:     InPlace,
	}
	namespaceRule = Rule{
		Kind:     schema.GroupVersionKind{Version: "v1", Kind: "Namespace"},
		Resource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"},
	}
	roleRule = Rule{
		Kind:       schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "Role"},
		Resource:   schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
		Namespaced: true,
		Method:     InPlace,
	}
	owner = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Web", Name: "web", UID: "owner-uid"}
)

// by returns rule with another method.
func by(rule Rule, method Method) Rule {
	rule.Method = method
	return rule
}

// edit changes an object that a test is about to use.
type edit func(*unstructured.Unstructured)

// object returns an object of rule's kind, in namespace default if it has namespaces.
func object(rule Rule, name string, edits ...edit) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(rule.Kind)
	u.SetName(name)
	if rule.Namespaced {
		u.SetNamespace("default")
	}
	for _, e := range edits {
		e(u)
	}
	return u
}

// stored returns the object that creating desired leaves in the API server.
func stored(t testing.TB, desired *unstructured.Unstructured, edits ...edit) *unstructured.Unstructured {
	t.Helper()
	u, err := newObject(desired, owner)
	if err != nil {
		t.Fatal(err)
	}
	u = u.DeepCopy()
	u.SetUID(types.UID("uid-of-" + u.GetName()))
	u.SetResourceVersion("7")
	for _, e := range edits {
		e(u)
	}
	return u
}

func spec(field string, value any) edit {
	return func(u *unstructured.Unstructured) {
		u.Object["spec"] = jsonvalue.With(jsonvalue.ObjectIn(u.Object, "spec"), field, value)
	}
}

func inNamespace(namespace string) edit {
	return func(u *unstructured.Unstructured) { u.SetNamespace(namespace) }
}

func deleting(u *unstructured.Unstructured) {
	_ = unstructured.SetNestedField(u.Object, "2024-01-01T00:00:00Z", "metadata", "deletionTimestamp")
}

func forgetful(u *unstructured.Unstructured) { u.SetAnnotations(nil) }

func list(objects ...*unstructured.Unstructured) []*unstructured.Unstructured { return objects }
