package apply

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestLargeConfigMaps syncs objects that do not fit into their own annotation, up to
// nearly what the API server takes.
func TestLargeConfigMaps(t *testing.T) {
	b := newDynamicEnv(t)
	cases := map[string]struct {
		reason string
		data   map[string]any
	}{
		"one-text":   {"one text of 900 KB", map[string]any{"a": text(900)}},
		"many-texts": {"nine texts of 100 KB", map[string]any{"a": text(100), "b": text(100), "c": text(100), "d": text(100), "e": text(100), "f": text(100), "g": text(100), "h": text(100), "i": text(100)}},
		"many-keys":  {"so many short texts that not even their digests fit", manyKeys(14000)},
		"fits-just":  {"an object whose annotation is as long as it may be", map[string]any{"a": strings.Repeat("a", 255<<10)}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := b.in(t)
			desired := configMap(b, name, tc.data)
			if err := b.sync(desired); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if err := b.settles(desired); err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			desired = desired.DeepCopy()
			_ = unstructured.SetNestedField(desired.Object, "changed", "data", "a")
			if err := b.settles(desired); err != nil {
				t.Fatalf("%s, changed: %v", tc.reason, err)
			}
			if found, _, _ := unstructured.NestedString(b.find(desired).Object, "data", "a"); found != "changed" {
				t.Errorf("%s: a change was not written", tc.reason)
			}
		})
	}
}

// text makes so many KB.
func text(size int) string { return strings.Repeat("0123456789abcde\n", size<<6) }

func manyKeys(count int) map[string]any {
	data := make(map[string]any, count)
	for n := range count {
		data[fmt.Sprintf("a-rather-long-key-%d", n)] = fmt.Sprintf("a text of its own, %d", n)
	}
	return data
}

func configMap(b *dynamicEnv, name string, data map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"data": data}}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetName(name)
	object.SetNamespace(b.namespace)
	return object
}
