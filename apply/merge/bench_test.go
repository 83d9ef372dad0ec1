package merge_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/merge"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// TestPodIsSettled checks what BenchmarkMerge measures.
func TestPodIsSettled(t *testing.T) {
	observed, desired := applytest.Pod(t, "testdata")
	merged, err := merge.Merge(nil, observed, desired)
	if err != nil || merged.Object != observed {
		t.Errorf("error %v, differs in %v", err, cmp.Diff(observed, merged.Object))
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = merge.Merge(nil, observed, desired) }); n > 40 {
		t.Errorf("%v allocations to find nothing", n)
	}
}

func BenchmarkMerge(b *testing.B) {
	observed, desired := applytest.Pod(b, "testdata")
	changed := desired.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, "v2", "metadata", "labels", "version"); err != nil {
		b.Fatal(err)
	}
	spaced := observed.DeepCopy()
	annotations := spaced.GetAnnotations()
	annotations[merge.LastApplied] += " "
	spaced.SetAnnotations(annotations)
	cases := map[string]struct{ observed, desired *unstructured.Unstructured }{
		"Unchanged": {observed, desired},
		"Decoded":   {spaced, desired},
		"Changed":   {observed, changed},
	}
	known := applytest.Kinds(b, "testdata")[schema.GroupVersionKind{Version: "v1", Kind: "Pod"}]
	for name, tc := range cases {
		b.Run(name, func(b *testing.B) { benchmarkMerge(b, nil, tc.observed, tc.desired) })
		b.Run(name+"BySchema", func(b *testing.B) { benchmarkMerge(b, known, tc.observed, tc.desired) })
	}
	text, _ := json.Marshal(observed.Object)
	wanted, _ := json.Marshal(desired.Object)
	b.Logf("observed %d bytes of JSON, desired %d", len(text), len(wanted))
}

func benchmarkMerge(b *testing.B, kind *openapi.Kind, observed, desired *unstructured.Unstructured) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := merge.Merge(kind, observed, desired); err != nil {
			b.Fatal(err)
		}
	}
}
