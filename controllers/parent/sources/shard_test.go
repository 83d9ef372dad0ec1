package sources

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// TestManagesInShard has each parent managed in one shard: by its namespace, or by the owner of the definition if it has none.
func TestManagesInShard(t *testing.T) {
	for _, namespace := range []string{"", "shop", "blog", "kube-system"} {
		managed := 0
		for i, r := range shard.Divide(nil, 3) {
			p := Parent{Shard: r, Follows: i != 1, ParentRule: variant.ParentRule{
				Selects: func(*unstructured.Unstructured) bool { return true },
			}}
			object := &unstructured.Unstructured{Object: map[string]any{}}
			object.SetNamespace(namespace)
			if p.Manages(object) {
				managed++
			}
		}
		if managed != 1 {
			t.Errorf("a parent in namespace %q is managed in %d shards", namespace, managed)
		}
	}
}
