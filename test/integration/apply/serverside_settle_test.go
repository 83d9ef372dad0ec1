package apply

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestServerSideSettles shows that what was applied once is not applied again, whatever
// words the API server has for it.
func TestServerSideSettles(t *testing.T) {
	s := newServerSideEnv(t)
	kinds := s.read("settle.yaml")
	kinds["configmap"] = s.parse(`{apiVersion: v1, kind: ConfigMap, metadata: {name: configmap}, data: {empty: ""}}`)
	s.must(unstructured.SetNestedField(kinds["configmap"].Object, strings.Repeat("0123456789abcde\n", 900<<10/16), "data", "long"))
	for name, desired := range kinds {
		t.Run(name, func(t *testing.T) {
			w := s.sub(t).applies("settles")
			w.settle(desired)
			first := w.live(desired)
			// Another process finds the same, and nothing to write.
			w.settle(desired.DeepCopy())
			if now := w.live(desired); now.GetGeneration() != first.GetGeneration() {
				t.Errorf("generation %d became %d", first.GetGeneration(), now.GetGeneration())
			}
		})
	}
}
