package memcluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"
)

// TestSharedObjectsDoNotChange makes writes of all kinds, and compares what each one stored and recorded with what is left of it in the
// end: versions of an object share what does not differ, with recorded writes, caches and whoever stored it.
func TestSharedObjectsDoNotChange(t *testing.T) {
	ctx := t.Context()
	var shared, copies []*unstructured.Unstructured
	keep := func(objects ...*unstructured.Unstructured) {
		for _, object := range objects {
			if object != nil {
				shared, copies = append(shared, object), append(copies, object.DeepCopy())
			}
		}
	}
	c, at := newBoxes(t, func(w Write) { keep(w.Before, w.After, &unstructured.Unstructured{Object: w.Sent}) })
	given := box("stored", map[string]any{"spec": map[string]any{"color": "red"}, "status": map[string]any{"ready": true}})
	given.SetNamespace("default")
	given.SetUID("u")
	given.SetResourceVersion("7")
	given.SetFinalizers([]string{"example.com/a"})
	keep(given)
	if err := c.Store(given); err != nil {
		t.Fatal(err)
	}
	keep(create(t, at, box("made", map[string]any{"spec": map[string]any{"color": "red", "list": []any{map[string]any{"a": "b"}}}})))
	for _, name := range []string{"stored", "made"} {
		object, err := at.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		object.Object["spec"] = map[string]any{"color": "blue", "list": []any{map[string]any{"a": "c"}}}
		sent := object.DeepCopy()
		updated, err := at.Update(ctx, sent, metav1.UpdateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(object, sent); diff != "" {
			t.Errorf("the object that was sent has changed:\n%s", diff)
		}
		updated.Object["status"] = map[string]any{"ready": false}
		if _, err := at.UpdateStatus(ctx, updated, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		updated.Object["status"], updated.Object["spec"] = nil, nil // It is the caller's.
		patch(t, at, name, types.MergePatchType, `{"metadata":{"labels":{"a":"b"}},"spec":{"color":"green","deep":{"a":{"b":"c"}}}}`)
		patch(t, at, name, types.ApplyPatchType,
			`{"apiVersion":"example.com/v1","kind":"Box","metadata":{"name":"`+name+`"},"spec":{"color":"white"}}`)
		if err := at.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range shared {
		if diff := cmp.Diff(copies[i], shared[i]); diff != "" {
			t.Errorf("object %d has changed:\n%s", i, diff)
		}
	}
}

func patch(t *testing.T, at dynamic.ResourceInterface, name string, kind types.PatchType, body string) {
	t.Helper()
	if _, err := at.Patch(t.Context(), name, kind, []byte(body), metav1.PatchOptions{FieldManager: "m", Force: new(true)}); err != nil {
		t.Fatal(err)
	}
}

// TestStore expects that an object that nobody has listed yet is shared, with its version, and that it is read as its API server would.
func TestStore(t *testing.T) {
	stored := func(name string, spec map[string]any) *unstructured.Unstructured {
		object := box(name, map[string]any{"spec": spec})
		object.SetNamespace("default")
		object.SetUID(types.UID(name))
		object.SetResourceVersion("4711")
		return object
	}
	red := map[string]any{"color": "red"}
	cases := map[string]struct {
		reason  string
		object  *unstructured.Unstructured
		listed  bool
		version string
		spec    map[string]any
	}{
		"as it is": {"Hooks are called with what workers know by its version.", stored("a", red), false, "4711", red},
		"a null": {
			"A write of the same object would be an update.", stored("a", map[string]any{"color": "red", "x": nil}), false, "4711", red,
		},
		"a default": {"It was stored before there was the default.", stored("a", map[string]any{}), false, "4711", red},
		"unknown":   {"Its schema is another one now.", stored("a", map[string]any{"color": "red", "unknown": true}), false, "4711", red},
		"later":     {"A watch sends versions that are newer than the list.", stored("a", red), true, "1", red},
		"no number": {"Versions of an aggregated API may be anything.", withVersion(stored("a", red), "x"), false, "1", red},
		"the last number": {
			"There must be versions left.", withVersion(stored("a", red), "9223372036854775807"), false, "1", red,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, at := newBoxes(t, nil)
			if tc.listed {
				list(t, at)
			}
			before := tc.object.DeepCopy()
			if err := c.Store(tc.object); err != nil {
				t.Fatal(err)
			}
			got := c.Snapshot()[0]
			if spec, _, _ := unstructured.NestedMap(got.Object, "spec"); got.GetResourceVersion() != tc.version || !cmp.Equal(spec, tc.spec) {
				t.Errorf("version %s of %v, want %s of %v: %s", got.GetResourceVersion(), spec, tc.version, tc.spec, tc.reason)
			}
			if diff := cmp.Diff(before, tc.object); diff != "" {
				t.Errorf("what was given has changed:\n%s", diff)
			}
			next := create(t, at, box("next", nil)).GetResourceVersion()
			if want := map[string]string{"4711": "4712", "1": "2"}[tc.version]; next != want {
				t.Errorf("the next change has version %s, want %s", next, want)
			}
		})
	}
}

func withVersion(object *unstructured.Unstructured, version string) *unstructured.Unstructured {
	object.SetResourceVersion(version)
	return object
}

func list(t *testing.T, at dynamic.ResourceInterface) {
	t.Helper()
	if _, err := at.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestReader expects that caches share what is stored, and that a client for others does not.
func TestReader(t *testing.T) {
	c := New(testclock.NewFakePassiveClock(start), BuiltIn()...)
	configMaps := BuiltIn()[0].GroupVersionResource
	at := c.Client(nil).Resource(configMaps).Namespace("default")
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"a": "b"}}}
	object.SetName("a")
	create(t, at, object)
	for name, tc := range map[string]struct {
		shares bool
		list   func() (*unstructured.UnstructuredList, error)
	}{
		"reader": {true, func() (*unstructured.UnstructuredList, error) {
			return c.Reader().Resource(configMaps).List(t.Context(), metav1.ListOptions{})
		}},
		"client": {false, func() (*unstructured.UnstructuredList, error) { return at.List(t.Context(), metav1.ListOptions{}) }},
	} {
		all, err := tc.list()
		if err != nil || len(all.Items) != 1 {
			t.Fatal(name, all, err)
		}
		all.Items[0].Object["seen"] = name
		_, shared := c.Snapshot()[0].Object["seen"]
		if delete(all.Items[0].Object, "seen"); shared != tc.shares {
			t.Errorf("%s: shared %t, want %t", name, shared, tc.shares)
		}
	}
}
