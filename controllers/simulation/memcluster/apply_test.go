package memcluster

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// applyBox applies a Box with that spec and returns it.
func applyBox(t *testing.T, at dynamic.ResourceInterface, manager, spec string, force bool, edits ...func(*unstructured.Unstructured)) (*unstructured.Unstructured, error) {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(spec), &fields); err != nil {
		t.Fatal(err)
	}
	object := box("a", map[string]any{"spec": fields})
	for _, edit := range edits {
		edit(object)
	}
	return at.Apply(t.Context(), "a", object, metav1.ApplyOptions{FieldManager: manager, Force: force})
}

// fieldsByManager returns the managed fields by operation and manager.
func fieldsByManager(t *testing.T, object *unstructured.Unstructured) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, e := range object.GetManagedFields() {
		found[string(e.Operation)+" "+e.Manager] = e.FieldsV1.GetRawString()
	}
	return found
}

func TestApply(t *testing.T) {
	_, at := newBoxes(t, nil)
	must := func(object *unstructured.Unstructured, err error) *unstructured.Unstructured {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	expect := func(reason string, object *unstructured.Unstructured, spec map[string]any, held map[string]string) {
		t.Helper()
		if diff := cmp.Diff(spec, object.Object["spec"]); diff != "" {
			t.Errorf("%s (-want, +got):\n%s", reason, diff)
		}
		if diff := cmp.Diff(held, fieldsByManager(t, object)); diff != "" {
			t.Errorf("%s: holders (-want, +got):\n%s", reason, diff)
		}
	}
	expect("applying creates", must(applyBox(t, at, "one", `{"a": "1", "b": "1"}`, false)),
		map[string]any{"a": "1", "b": "1", "color": "red"}, map[string]string{"Apply one": `{"f:spec":{".":{},"f:a":{},"f:b":{}}}`})
	_, err := applyBox(t, at, "other", `{"a": "2"}`, false)
	if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Details.Causes[0].Type != metav1.CauseTypeFieldManagerConflict || status.Status().Details.Causes[0].Field != ".spec.a" {
		t.Errorf("a conflict gives %v", err)
	}
	expect("force takes a field", must(applyBox(t, at, "other", `{"a": "2"}`, true)),
		map[string]any{"a": "2", "b": "1", "color": "red"}, map[string]string{"Apply one": `{"f:spec":{".":{},"f:b":{}}}`, "Apply other": `{"f:spec":{".":{},"f:a":{}}}`})
	merged := must(at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec": {"b": "3"}}`), metav1.PatchOptions{FieldManager: "third"}))
	expect("an update takes a field", merged,
		map[string]any{"a": "2", "b": "3", "color": "red"}, map[string]string{"Apply one": `{"f:spec":{}}`, "Apply other": `{"f:spec":{".":{},"f:a":{}}}`, "Update third": `{"f:spec":{"f:b":{}}}`})
	expect("what is no longer asked for is removed", must(applyBox(t, at, "other", `{}`, true)),
		map[string]any{"b": "3", "color": "red"}, map[string]string{"Apply one": `{"f:spec":{}}`, "Apply other": `{"f:spec":{}}`, "Update third": `{"f:spec":{"f:b":{}}}`})
}

func TestApplyPreconditions(t *testing.T) {
	_, at := newBoxes(t, nil)
	uid := func(o *unstructured.Unstructured) { o.SetUID("other") }
	version := func(o *unstructured.Unstructured) { o.SetResourceVersion("99") }
	if _, err := applyBox(t, at, "one", `{}`, true, uid); !apierrors.IsConflict(err) {
		t.Errorf("applying to an object that is gone: %v", err)
	}
	if _, err := applyBox(t, at, "one", `{}`, true, version); err != nil {
		t.Errorf("a version is not looked at where there is no object: %v", err)
	}
	if _, err := applyBox(t, at, "one", `{}`, true, version); !apierrors.IsConflict(err) {
		t.Errorf("applying to another version: %v", err)
	}
	if _, err := applyBox(t, at, "one", `{}`, true, uid); !apierrors.IsConflict(err) {
		t.Errorf("applying to another object: %v", err)
	}
	if _, err := applyBox(t, at, "", `{}`, true); !apierrors.IsBadRequest(err) {
		t.Errorf("applying without a manager: %v", err)
	}
}

// TestFirstApply checks that the fields of an object that was not applied before belong to a manager of their own.
func TestFirstApply(t *testing.T) {
	_, at := newBoxes(t, nil)
	create(t, at, box("a", map[string]any{"spec": map[string]any{"a": "1", "b": "1"}}))
	if _, err := applyBox(t, at, "one", `{"a": "2"}`, false); !apierrors.IsConflict(err) {
		t.Errorf("applying another value: %v, want a conflict", err)
	}
	got, err := applyBox(t, at, "one", `{"a": "2"}`, true)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"Apply one": `{"f:spec":{".":{},"f:a":{}}}`, "Update before-first-apply": `{"f:spec":{".":{},"f:b":{},"f:color":{}}}`}
	if diff := cmp.Diff(want, fieldsByManager(t, got)); diff != "" {
		t.Errorf("managers (-want, +got):\n%s", diff)
	}
}

// TestManageFields checks that it is known of each field who has written it, from the creation on and by the subresource, and since when.
func TestManageFields(t *testing.T) {
	c, at := newBoxes(t, nil)
	c.ManageFields()
	must := func(object *unstructured.Unstructured, err error) *unstructured.Unstructured {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return object
	}
	created := must(at.Create(t.Context(), box("a", map[string]any{"spec": map[string]any{"a": "1"}}), metav1.CreateOptions{FieldManager: "one"}))
	created.Object["status"] = map[string]any{"b": "1"}
	updated := must(at.UpdateStatus(t.Context(), created, metav1.UpdateOptions{})) // By a controller of the cluster.
	updated.Object["spec"].(map[string]any)["c"] = "1"
	scaled := must(at.Update(t.Context(), updated, metav1.UpdateOptions{FieldManager: "two"}, ScaleSubresource))
	got := map[string]string{}
	for _, e := range scaled.GetManagedFields() {
		if e.Time.IsZero() {
			t.Errorf("the entry of %s has no time", e.Manager)
		}
		got[e.Manager+" "+e.Subresource] = e.FieldsV1.GetRawString()
	}
	want := map[string]string{
		"one ": `{"f:spec":{".":{},"f:a":{},"f:color":{}}}`, "kube-controller-manager status": `{"f:status":{".":{},"f:b":{}}}`,
		"two scale": `{"f:spec":{"f:c":{}}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("managers (-want, +got):\n%s", diff)
	}
	same := must(at.Update(t.Context(), scaled, metav1.UpdateOptions{FieldManager: "other"}))
	if same.GetResourceVersion() != scaled.GetResourceVersion() {
		t.Errorf("a write that changes nothing: %v", same.GetManagedFields())
	}
}
