package memcluster

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/dynamic"
	testclock "k8s.io/utils/clock/testing"
)

var (
	boxes = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "boxes"}
	start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// newBoxes returns a cluster with a custom resource, and a client for it in the namespace default.
func newBoxes(t *testing.T, record func(Write)) (*Cluster, dynamic.ResourceInterface) {
	t.Helper()
	resource, err := Custom("example.com/v1", "Box", "boxes", true, true)
	if err != nil {
		t.Fatal(err)
	}
	resource.Schema = boxSchema{drops: []string{"unknown"}, defaults: map[string]any{"color": "red"}}
	c := New(testclock.NewFakePassiveClock(start), append(BuiltIn(), resource)...)
	return c, c.Client(record).Resource(boxes).Namespace("default")
}

// boxSchema is a schema with fields of the spec that are dropped, or have defaults.
type boxSchema struct {
	drops    []string
	defaults map[string]any
}

func (s boxSchema) Decode(object map[string]any) (dropped []string, err error) {
	spec, _ := object["spec"].(map[string]any)
	if spec == nil {
		spec = map[string]any{}
		object["spec"] = spec
	}
	for _, name := range s.drops {
		if _, has := spec[name]; has {
			dropped = append(dropped, "spec."+name)
			delete(spec, name)
		}
	}
	maps.DeleteFunc(spec, func(_ string, value any) bool { return value == nil })
	for name, value := range s.defaults {
		if _, has := spec[name]; !has {
			spec[name] = value
		}
	}
	return dropped, nil
}

func (boxSchema) Validate(object, old *unstructured.Unstructured) field.ErrorList {
	if old != nil {
		return apivalidation.ValidateObjectMetaAccessorUpdate(object, old, field.NewPath("metadata"))
	}
	return apivalidation.ValidateObjectMetaAccessor(object, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
}

func (boxSchema) ValidateStatus(_, _ *unstructured.Unstructured) field.ErrorList { return nil }

func (boxSchema) TypeConverter() (managedfields.TypeConverter, error) {
	return managedfields.NewDeducedTypeConverter(), nil
}

func box(name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Box"}}
	o.SetName(name)
	maps.Copy(o.Object, fields)
	return o
}

func create(t *testing.T, at dynamic.ResourceInterface, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	created, err := at.Create(t.Context(), object, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created
}

func TestCreate(t *testing.T) {
	_, at := newBoxes(t, nil)
	got := create(t, at, box("a", map[string]any{
		"spec": map[string]any{"size": int64(1), "unknown": true, "nothing": nil}, "status": map[string]any{"ready": true},
	}))
	want := box("a", map[string]any{"spec": map[string]any{"size": int64(1), "color": "red"}})
	want.SetNamespace("default")
	want.SetUID("box.default.a")
	want.SetResourceVersion("1")
	want.SetGeneration(1)
	want.SetCreationTimestamp(metav1.NewTime(start))
	if diff := cmp.Diff(want.Object, got.Object); diff != "" {
		t.Errorf("the server's part is filled in, the status is not the creator's, and the schema has its say\n-want +got:\n%s", diff)
	}
	if _, err := at.Create(t.Context(), box("a", nil), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second object of the name: %v, want AlreadyExists", err)
	}
}

func TestUpdate(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(*unstructured.Unstructured)
		status  bool
		fails   func(error) bool
		version string
		gen     int64
	}{
		"Nothing":   {reason: "An update that changes nothing makes no version.", change: func(*unstructured.Unstructured) {}, version: "1", gen: 1},
		"Labels":    {reason: "The generation does not count metadata.", change: func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }, version: "2", gen: 1},
		"Spec":      {reason: "The generation counts the spec.", change: setSize, version: "2", gen: 2},
		"Status":    {reason: "The status is not written with the rest.", change: setReady, version: "1", gen: 1},
		"Apart":     {reason: "The status is written through its subresource, and nothing else.", change: func(o *unstructured.Unstructured) { setReady(o); setSize(o) }, status: true, version: "2", gen: 1},
		"Stale":     {reason: "An older version is refused.", change: func(o *unstructured.Unstructured) { o.SetResourceVersion("0") }, fails: apierrors.IsConflict, version: "1", gen: 1},
		"Namesake":  {reason: "Another UID is refused.", change: func(o *unstructured.Unstructured) { o.SetUID("x") }, fails: apierrors.IsConflict, version: "1", gen: 1},
		"Unchecked": {reason: "Without a version the last one wins.", change: func(o *unstructured.Unstructured) { o.SetResourceVersion(""); setSize(o) }, version: "2", gen: 2},
		"Unknown":   {reason: "What is not there can't be updated.", change: func(o *unstructured.Unstructured) { o.SetName("b") }, fails: apierrors.IsNotFound, version: "1", gen: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, at := newBoxes(t, nil)
			object := create(t, at, box("a", map[string]any{"spec": map[string]any{"size": int64(1)}}))
			tc.change(object)
			write := at.Update
			if tc.status {
				write = func(ctx context.Context, o *unstructured.Unstructured, options metav1.UpdateOptions, _ ...string) (*unstructured.Unstructured, error) {
					return at.UpdateStatus(ctx, o, options)
				}
			}
			if _, err := write(t.Context(), object, metav1.UpdateOptions{}); err != nil != (tc.fails != nil) || err != nil && !tc.fails(err) {
				t.Fatalf("%s: got error %v", tc.reason, err)
			}
			got, err := at.Get(t.Context(), "a", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got.GetResourceVersion() != tc.version || got.GetGeneration() != tc.gen {
				t.Errorf("%s: got version %s and generation %d, want %s and %d", tc.reason, got.GetResourceVersion(), got.GetGeneration(), tc.version, tc.gen)
			}
		})
	}
}

func setSize(o *unstructured.Unstructured)  { o.Object["spec"] = map[string]any{"size": int64(2)} }
func setReady(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"ready": true} }

func TestPatch(t *testing.T) {
	var writes []Write
	_, at := newBoxes(t, func(w Write) { writes = append(writes, w) })
	create(t, at, box("a", map[string]any{"spec": map[string]any{"size": int64(1), "deep": map[string]any{"x": int64(1), "y": int64(2)}}}))
	got, err := at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"spec":{"deep":{"x":null,"z":3}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"size": int64(1), "color": "red", "deep": map[string]any{"y": int64(2), "z": int64(3)}}
	if diff := cmp.Diff(want, got.Object["spec"]); diff != "" {
		t.Errorf("a merge patch\n-want +got:\n%s", diff)
	}
	if _, err := at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"resourceVersion":"1"}}`), metav1.PatchOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("a patch of an older version: %v, want a conflict", err)
	}
	if len(writes) != 3 || writes[1].Verb != Patch || writes[2].Err == nil {
		t.Errorf("every write is recorded, in order and with its error, got %+v", writes)
	}
}

func TestDelete(t *testing.T) {
	cases := map[string]struct {
		reason     string
		finalizers []string
		policy     metav1.DeletionPropagation
		want       []string // The remaining finalizers, nil if it is deleted.
	}{
		"AtOnce":     {"Without finalizers an object goes at once.", nil, metav1.DeletePropagationBackground, nil},
		"Held":       {"Finalizers hold it.", []string{"example.com/a"}, metav1.DeletePropagationBackground, []string{"example.com/a"}},
		"Foreground": {"Foreground is a finalizer.", nil, metav1.DeletePropagationForeground, []string{metav1.FinalizerDeleteDependents}},
		"Orphan":     {"Orphan is one too.", []string{"example.com/a"}, metav1.DeletePropagationOrphan, []string{"example.com/a", metav1.FinalizerOrphanDependents}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, at := newBoxes(t, nil)
			object := box("a", nil)
			object.SetFinalizers(tc.finalizers)
			create(t, at, object)
			if err := at.Delete(t.Context(), "a", metav1.DeleteOptions{PropagationPolicy: &tc.policy}); err != nil {
				t.Fatal(err)
			}
			got, err := at.Get(t.Context(), "a", metav1.GetOptions{})
			if tc.want == nil {
				if !apierrors.IsNotFound(err) {
					t.Errorf("%s: it is still there: %v", tc.reason, err)
				}
				return
			}
			if err != nil || got.GetDeletionTimestamp() == nil {
				t.Fatalf("%s: got %v, %v", tc.reason, got, err)
			}
			if diff := cmp.Diff(tc.want, got.GetFinalizers()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestLastFinalizer checks that an object is deleted with its last finalizer, and that the next of its name
// has another UID.
func TestLastFinalizer(t *testing.T) {
	_, at := newBoxes(t, nil)
	object := box("a", nil)
	object.SetFinalizers([]string{"example.com/a"})
	create(t, at, object)
	if err := at.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/a","example.com/b"]}}`), metav1.PatchOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a finalizer on what is being deleted: %v, want Forbidden", err)
	}
	if _, err := at.Patch(t.Context(), "a", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if next := create(t, at, box("a", nil)); next.GetUID() != "box.default.a.2" {
		t.Errorf("the next of its name has UID %s", next.GetUID())
	}
}

func TestDeletePreconditions(t *testing.T) {
	_, at := newBoxes(t, nil)
	create(t, at, box("a", nil))
	uid := types.UID("another")
	if err := at.Delete(t.Context(), "a", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}); !apierrors.IsConflict(err) {
		t.Errorf("another UID: %v, want a conflict", err)
	}
}
