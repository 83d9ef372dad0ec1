package informer

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

func entry(manager, operation string) map[string]any {
	return map[string]any{
		"manager": manager, "operation": operation, "apiVersion": "v1", "time": "2024-01-01T00:00:00Z",
		"fieldsV1": map[string]any{"f:data": map[string]any{"f:" + manager: map[string]any{}}},
	}
}

func TestAppliedFields(t *testing.T) {
	status := entry("libretto/a", "Apply")
	status["subresource"] = "status"
	held := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "held", "namespace": "default", "managedFields": []any{
			entry("libretto/a", "Apply"), entry("libretto/a", "Update"), entry("librettos", "Apply"), entry("kubectl", "Apply"), status,
		},
	}}}
	free := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
		"name": "free", "namespace": "default", "managedFields": []any{entry("kubectl", "Apply")},
	}}}
	kept := entry("libretto/a", "Apply")
	delete(kept, "time")
	cases := map[string]struct {
		reason, manager string
		want            []any
	}{
		"Kept":    {reason: "only entries of this manager are kept", manager: "libretto", want: []any{kept}},
		"NotKept": {reason: "nothing is kept without KeepFields"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
				map[schema.GroupVersionResource]string{resource: "ConfigMapList"}, held.DeepCopy(), free.DeepCopy())
			pool := NewPool(t.Context(), client, logr.Discard())
			pool.KeepFields(tc.manager)
			h := pool.Open(resource)
			defer h.Close()
			if !h.WaitForSync(t.Context()) {
				t.Fatal("no sync")
			}
			for _, object := range []*unstructured.Unstructured{held, free} {
				got := h.Get("default", object.GetName())
				if got == nil || len(got.GetManagedFields()) > 0 {
					t.Fatalf("%s is %v", object.GetName(), got)
				}
				if len(h.List()) != 2 || len(h.OwnedBy("nobody")) != 0 {
					t.Errorf("%d objects", len(h.List()))
				}
			}
			if diff := cmp.Diff(tc.want, h.AppliedFields(h.Get("default", "held"))); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			if fields := h.AppliedFields(free); fields != nil {
				t.Errorf("fields of others are kept: %v", fields)
			}
		})
	}
}
