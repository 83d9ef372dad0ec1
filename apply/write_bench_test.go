package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// encodingClient encodes what it is to send, and answers by metadata.
type encodingClient struct {
	dynamic.NamespaceableResourceInterface
	answer *unstructured.Unstructured
}

func (c encodingClient) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return c
}

func (c encodingClient) Namespace(string) dynamic.ResourceInterface { return c }

func (c encodingClient) Create(
	_ context.Context, u *unstructured.Unstructured, _ metav1.CreateOptions, _ ...string,
) (*unstructured.Unstructured, error) {
	_, err := objectjson.Marshal(u.Object)
	return c.answer, err
}

func (c encodingClient) Update(
	_ context.Context, u *unstructured.Unstructured, _ metav1.UpdateOptions, _ ...string,
) (*unstructured.Unstructured, error) {
	_, err := objectjson.Marshal(u.Object)
	return c.answer, err
}

func (c encodingClient) Patch(
	context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string,
) (*unstructured.Unstructured, error) {
	return c.answer, nil
}

// BenchmarkWrite takes one ConfigMap of 1.5 KB from a hook's answer to the body of the request.
func BenchmarkWrite(b *testing.B) {
	rule := Rule{
		Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"},
		Namespaced: true, Method: InPlace, Managers: serverside.Managers{Own: "libretto/composite/x"},
	}
	fill := func(text string) edit {
		return func(u *unstructured.Unstructured) {
			u.SetLabels(map[string]string{"app": "x", "thing": "a"})
			data := map[string]any{}
			for i := range 6 {
				data[fmt.Sprint("key", i)] = strings.Repeat(text, 250)
			}
			u.Object["data"] = data
		}
	}
	observed, desired := stored(b, object(rule, "a", fill("x"))), object(rule, "a", fill("y"))
	answer := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": map[string]any{"name": "a", "resourceVersion": "8"},
	}}
	for name, bench := range map[string]struct {
		strategy Strategy
		observed []*unstructured.Unstructured
	}{
		"create": {}, "update": {observed: []*unstructured.Unstructured{observed}}, "apply": {strategy: ServerSideApply},
	} {
		b.Run(name, func(b *testing.B) {
			rule := rule
			rule.Strategy = bench.strategy
			in := Input{
				Owner: owner, Rules: []Rule{rule}, Observed: bench.observed, Desired: []*unstructured.Unstructured{desired}, Memory: NewMemory(),
			}
			b.ReportAllocs()
			for b.Loop() {
				changes, err := Diff(in)
				if err != nil || len(changes) != 1 {
					b.Fatal(err, changes)
				}
				if o := Execute(b.Context(), encodingClient{answer: answer}, changes, Options{}); o[0].Err != nil {
					b.Fatal(o[0].Err)
				}
			}
		})
	}
}
