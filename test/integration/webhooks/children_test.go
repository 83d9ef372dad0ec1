package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// answering answers a parent and its ConfigMaps with what the status says and the name of the ConfigMap that is wanted.
func answering(answer func(parent *unstructured.Unstructured, children map[string]unstructured.Unstructured) (said,
	child string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Parent   unstructured.Unstructured
			Children map[string]map[string]unstructured.Unstructured
		}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		said, child := answer(&request.Parent, request.Children["ConfigMap.v1"])
		_ = json.NewEncoder(w).Encode(map[string]any{"status": map[string]any{"said": said}, "children": []any{map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": child}, "data": map[string]any{"value": "yes"},
		}}})
	}
}

// TestChildThatIsBeingDeleted is shown to the hook as it is, and is left alone until it is gone.
func TestChildThatIsBeingDeleted(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(answering(func(_ *unstructured.Unstructured, children map[string]unstructured.Unstructured) (said, child string) {
		c, there := children["c"]
		switch {
		case !there:
			return "none", "c"
		case c.GetDeletionTimestamp() != nil:
			return "going", "c"
		default:
			return "there", "c"
		}
	}))
	define(e, "children", webhook(server.URL), "")
	applyThing(e, "children", "a")
	waitForSaid(e, "a", "there")
	first := e.Get(env.ConfigMaps, "c").GetUID()
	e.Patch(env.ConfigMaps, "c", `{"metadata": {"finalizers": ["example.com/hold"]}}`)
	mark := e.Mark()
	env.NoError(t, e.In(env.ConfigMaps).Delete(t.Context(), "c", metav1.DeleteOptions{}))
	waitForSaid(e, "a", "going")
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Of("", "configmaps").Writes(), "a child that is being deleted is written")
	e.Patch(env.ConfigMaps, "c", `{"metadata": {"finalizers": null}}`)
	waitForSaid(e, "a", "there")
	if next := e.Get(env.ConfigMaps, "c"); next == nil || next.GetUID() == first {
		t.Error("the child is not made anew")
	}
}

// TestDeletionsGoFirst shows the order of writes: what is not wanted any more goes before what is wanted comes.
func TestDeletionsGoFirst(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(answering(func(parent *unstructured.Unstructured, _ map[string]unstructured.Unstructured) (said, child string) {
		child, _, _ = unstructured.NestedString(parent.Object, "metadata", "annotations", "child")
		if child == "" {
			child = "one"
		}
		return child, child
	}))
	define(e, "order", webhook(server.URL), "")
	applyThing(e, "order", "a")
	waitForValue(e, "one", "yes")
	e.WaitForQuiet()
	mark := e.Mark()
	e.Patch(e.Things(), "a", `{"metadata": {"annotations": {"child": "two"}}}`)
	waitForValue(e, "two", "yes")
	e.WaitForQuiet()
	var order []string
	for _, write := range e.Requests(mark).Of("", "configmaps").Writes() {
		order = append(order, write.Verb+" "+write.Name)
	}
	if got := fmt.Sprint(order); got != "[delete one create two]" {
		t.Errorf("writes are %s, want [delete one create two]", got)
	}
}
