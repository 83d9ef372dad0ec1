package memcluster

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// TestServe checks that a resource can come, change and go, with its watches.
func TestServe(t *testing.T) {
	c, at := newBoxes(t, nil)
	create(t, at, box("a", map[string]any{"spec": map[string]any{"size": int64(1)}}))
	w, err := at.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := c.ResourceOf(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Box"})
	if err != nil {
		t.Fatal(err)
	}
	changed.Schema = boxSchema{drops: []string{"size"}, defaults: map[string]any{"color": "blue", "shape": "round"}}
	c.Serve(changed)
	got, err := at.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"color": "red", "shape": "round"}, got.Object["spec"]); diff != "" || got.GetResourceVersion() != "2" {
		t.Errorf("what is there is stored by the new schema, as version %s\n-want +got:\n%s", got.GetResourceVersion(), diff)
	}
	if got := create(t, at, box("b", map[string]any{"spec": map[string]any{}})); got.Object["spec"].(map[string]any)["color"] != "blue" {
		t.Errorf("by the new schema: %v", got.Object)
	}
	if diff := cmp.Diff([]string{"MODIFIED a", "ADDED b"}, nextEventsOf(t, w, 2)); diff != "" {
		t.Errorf("the watch goes on\n-want +got:\n%s", diff)
	}
	c.Unserve(boxes)
	if _, open := <-w.ResultChan(); open {
		t.Error("the watch of a resource that is gone says something")
	}
	if _, err := at.Get(t.Context(), "a", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("after its resource: %v", err)
	}
	c.Serve(changed)
	if list, err := at.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) > 0 {
		t.Errorf("the objects came back: %v, %v", list, err)
	}
}

// TestDryRun checks that a write that is tried answers as one that is made, and leaves no traces.
func TestDryRun(t *testing.T) {
	c, at := newBoxes(t, nil)
	var seen []watch.EventType
	c.Observe(func(event watch.Event) { seen = append(seen, event.Type) })
	all := []string{metav1.DryRunAll}
	tried, err := at.Create(t.Context(), box("a", nil), metav1.CreateOptions{DryRun: all})
	if err != nil || tried.GetUID() != "box.default.a" {
		t.Fatalf("tried: %v, %v", tried, err)
	}
	create(t, at, box("a", nil))
	patch := []byte(`{"spec": {"size": 2}}`)
	if tried, err = at.Patch(t.Context(), "a", types.MergePatchType, patch, metav1.PatchOptions{DryRun: all}); err != nil || tried.GetGeneration() != 2 {
		t.Errorf("tried: %v, %v", tried, err)
	}
	if err := at.Delete(t.Context(), "a", metav1.DeleteOptions{DryRun: all}); err != nil {
		t.Error(err)
	}
	got, err := at.Get(t.Context(), "a", metav1.GetOptions{})
	if err != nil || got.GetGeneration() != 1 || got.GetUID() != "box.default.a" || c.Version() != 1 {
		t.Errorf("stored: %v, %v at version %d", got, err, c.Version())
	}
	if diff := cmp.Diff([]watch.EventType{watch.Added}, seen); diff != "" {
		t.Error(diff)
	}
}

// TestWatchOfSelector checks that for a watch an object comes and goes as it begins and ceases to match.
func TestWatchOfSelector(t *testing.T) {
	_, at := newBoxes(t, nil)
	w, err := at.Watch(t.Context(), metav1.ListOptions{LabelSelector: "app=x", FieldSelector: "metadata.namespace=default,spec.color!=blue"})
	if err != nil {
		t.Fatal(err)
	}
	create(t, at, box("a", map[string]any{"spec": map[string]any{}}))
	for _, patch := range []string{
		`{"metadata": {"labels": {"app": "x"}}}`, `{"spec": {"size": 1}}`, `{"spec": {"color": "blue"}}`, `{"spec": {"color": "red"}}`,
		`{"metadata": {"labels": null}}`,
	} {
		if _, err := at.Patch(t.Context(), "a", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"ADDED a", "MODIFIED a", "DELETED a", "ADDED a", "DELETED a"}, nextEventsOf(t, w, 5)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestForgottenVersions checks that a watch is told if the history does not reach back to its version.
func TestForgottenVersions(t *testing.T) {
	c, at := newBoxes(t, nil)
	create(t, at, box("a", nil))
	lagging, err := at.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"})
	if err != nil {
		t.Fatal(err)
	}
	c.PauseWatch(boxes)
	for i := range 2 * keptChanges {
		patch := fmt.Appendf(nil, `{"spec": {"size": %d}}`, i)
		if _, err := at.Patch(t.Context(), "a", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := at.Watch(t.Context(), metav1.ListOptions{ResourceVersion: "1"}); !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch of a version that is forgotten: %v", err)
	}
	c.ResumeWatches()
	event := <-lagging.ResultChan()
	if err := apierrors.FromObject(event.Object); event.Type != watch.Error || !apierrors.IsResourceExpired(err) {
		t.Errorf("a watch that lags behind is sent %s: %v", event.Type, err)
	}
	if _, open := <-lagging.ResultChan(); open {
		t.Error("it goes on")
	}
}

// TestStrategicMergePatch checks that lists are merged by the keys of the type, and that custom resources have no such patches.
func TestStrategicMergePatch(t *testing.T) {
	c, at := newBoxes(t, nil)
	pods := c.Client(nil).Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("default")
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "x", "image": "x:1"}, map[string]any{"name": "y", "image": "y:1"}}},
	}}
	create(t, pods, pod)
	patch := []byte(`{"spec": {"containers": [{"name": "y", "image": "y:2"}]}}`)
	got, err := pods.Patch(t.Context(), "a", types.StrategicMergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	containers, _, _ := unstructured.NestedSlice(got.Object, "spec", "containers")
	want := []any{map[string]any{"name": "x", "image": "x:1"}, map[string]any{"name": "y", "image": "y:2"}}
	if diff := cmp.Diff(want, containers); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	create(t, at, box("a", nil))
	if _, err := at.Patch(t.Context(), "a", types.StrategicMergePatchType, patch, metav1.PatchOptions{}); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("of a custom resource: %v", err)
	}
}
