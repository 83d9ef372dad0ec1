package parent

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
)

// TestLastingChildrenBeforeTheirEvents: children that were deleted or created count as such before an event shows it. An analysis of a rollout
// would otherwise find all of those there that an edit has just deleted.
func TestLastingChildrenBeforeTheirEvents(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	cluster := memcluster.New(clock, append(memcluster.BuiltIn(), memcluster.Resource{Resource: editedThings, Generation: true})...)
	h := startEdited(t, cluster, clock, editedProgram{answer: func(request map[string]any) (engines.Response, error) {
		var children []any
		want, _, _ := unstructured.NestedInt64(request, "parent", "spec", "children")
		for n := range want {
			children = append(children, map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": fmt.Sprint("c", n)}})
		}
		return engines.Response{Body: map[string]any{"children": children}}, nil
	}}, true, nil)
	defer h.close()
	things := cluster.Client(nil).Resource(editedThings.GroupVersionResource).Namespace("default")
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": editedThings.Kind.GroupVersion().String(), "kind": editedThings.Kind.Kind,
		"metadata": map[string]any{"name": "x"}, "spec": map[string]any{"children": int64(3)},
	}}
	if _, err := things.Create(t.Context(), thing, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	h.settleEvents()
	check := func(number int) {
		t.Helper()
		for h.pass(time.Second) {
			h.settleEvents()
		}
		count := 0
		h.EachParent(func(object *unstructured.Unstructured, _ LastSync) { count += len(h.LastingChildren(object)) })
		children, parents := h.CountChildren(func(*unstructured.Unstructured) bool { return true })
		if count != number || parents != 1 || children[editedChildren.Kind.GroupKind()] != number {
			t.Errorf("%d children, counted as %v of %d parents; want %d", count, children, parents, number)
		}
	}
	check(3)
	cluster.PauseWatch(editedChildren.GroupVersionResource)
	for _, c := range []struct{ asked, there int }{{1, 1}, {4, 2}} { // Those of the same names come once the former ones have gone.
		patch := fmt.Appendf(nil, `{"spec":{"children":%d}}`, c.asked)
		if _, err := things.Patch(t.Context(), "x", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		h.settleEvents()
		check(c.there)
	}
	cluster.ResumeWatches()
	h.settleEvents()
	check(4)
}
