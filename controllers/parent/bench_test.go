package parent

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// benchmarkedChildren is how many children the parent of the benchmarks of passes has.
const benchmarkedChildren = 5

// startBenchmarked starts a host with one parent and all of its children, and returns the parent's key and what edits parents.
func startBenchmarked(b testing.TB) (*editedHost, controller.Key, dynamic.ResourceInterface) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	cluster := memcluster.New(clock, append(memcluster.BuiltIn(), memcluster.Resource{Resource: editedThings, Generation: true})...)
	things := cluster.Client(func(memcluster.Write) {}).Resource(editedThings.GroupVersionResource).Namespace("default")
	hook := editedProgram{answer: func(request map[string]any) (engines.Response, error) {
		text, _, _ := unstructured.NestedString(request["parent"].(map[string]any), "spec", "text")
		children := []any{}
		for n := range benchmarkedChildren {
			children = append(children, map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": text}, "metadata": map[string]any{"name": fmt.Sprint("p-", n)},
			})
		}
		body := map[string]any{"children": children, "status": map[string]any{"text": text}}
		return engines.Response{Body: body, Read: engines.ReadSet{"children", "parent.spec"}}, nil
	}}
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "p"}, "spec": map[string]any{"text": "0"},
	}}
	if _, err := things.Create(b.Context(), thing, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
	host := startEdited(b, cluster, clock, hook, true, func(memcluster.Write) {})
	b.Cleanup(host.close)
	for host.pass(time.Second) {
		host.settleEvents()
	}
	return host, controller.Key{Kind: editedThings.Kind, Namespace: "default", Name: "p"}, things
}

// BenchmarkUnchangedPass measures a pass over a parent that the last pass has left as it is.
func BenchmarkUnchangedPass(b *testing.B) {
	host, key, _ := startBenchmarked(b)
	b.ReportAllocs()
	for b.Loop() {
		if result, err := host.Reconcile(b.Context(), key); err != nil || result.Unfinished {
			b.Fatal(result, err)
		}
	}
}

// BenchmarkWritingPass measures a pass that updates all children and the status of a parent.
func BenchmarkWritingPass(b *testing.B) {
	host, key, things := startBenchmarked(b)
	b.ReportAllocs()
	for edits := 1; b.Loop(); edits++ {
		b.StopTimer()
		patch := fmt.Sprintf(`{"spec":{"text":"%d"}}`, edits)
		if _, err := things.Patch(b.Context(), "p", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			b.Fatal(err)
		}
		host.settleEvents()
		b.StartTimer()
		if _, err := host.Reconcile(b.Context(), key); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		host.settleEvents()
		host.queue.clock.Step(time.Minute)
		b.StartTimer()
	}
	thing, err := things.Get(b.Context(), "p", metav1.GetOptions{})
	if err != nil || jsonvalue.ObjectIn(thing.Object, "status")["text"] != jsonvalue.ObjectIn(thing.Object, "spec")["text"] {
		b.Fatalf("the parent is not synced: %v (%v)", thing, err)
	}
}
