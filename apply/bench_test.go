package apply

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/google/go-cmp/cmp"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

func read(t testing.TB, file string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, data)
}

// pod returns a Pod as a hook desires it and as the API server keeps it.
func pod(t testing.TB) (observed, desired *unstructured.Unstructured) {
	t.Helper()
	desired = read(t, "testdata/pod/desired.yaml")
	out, err := remember(read(t, "testdata/pod/observed.yaml").Object, desired.Object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: out}, desired
}

// TestPodIsSettled checks what BenchmarkMerge measures.
func TestPodIsSettled(t *testing.T) {
	observed, desired := pod(t)
	merged, err := Merge(nil, observed, desired)
	if err != nil || merged.Object != observed {
		t.Errorf("error %v, differs in %v", err, cmp.Diff(observed, merged.Object))
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = Merge(nil, observed, desired) }); n > 40 {
		t.Errorf("%v allocations to find nothing", n)
	}
}

func BenchmarkMerge(b *testing.B) {
	observed, desired := pod(b)
	changed := desired.DeepCopy()
	if err := unstructured.SetNestedField(changed.Object, "v2", "metadata", "labels", "version"); err != nil {
		b.Fatal(err)
	}
	spaced := observed.DeepCopy()
	annotations := spaced.GetAnnotations()
	annotations[LastApplied] += " "
	spaced.SetAnnotations(annotations)
	cases := map[string]struct{ observed, desired *unstructured.Unstructured }{
		"Unchanged": {observed, desired},
		"Decoded":   {spaced, desired},
		"Changed":   {observed, changed},
	}
	known := servedKinds(b)[podRule.Kind]
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
		if _, err := Merge(kind, observed, desired); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMemory looks an object up that has not changed.
func BenchmarkMemory(b *testing.B) {
	observed, desired := pod(b)
	observed = observed.DeepCopy()
	observed.SetResourceVersion("7")
	c := child{key: KeyOf(observed), rule: podRule, desired: desired, memory: NewMemory()}
	b.ReportAllocs()
	for b.Loop() {
		if change, err := c.update(observed); err != nil || change != nil {
			b.Fatal(change, err)
		}
	}
}

// BenchmarkDiff compares a thousand objects that are as they should be, and that have
// not changed since they were compared last time.
func BenchmarkDiff(b *testing.B) {
	known := podRule
	known.Schema = servedKinds(b)[podRule.Kind]
	b.Run("Compared", func(b *testing.B) { benchmarkDiff(b, podRule, nil) })
	b.Run("ComparedBySchema", func(b *testing.B) { benchmarkDiff(b, known, nil) })
	b.Run("Remembered", func(b *testing.B) { benchmarkDiff(b, known, NewMemory()) })
}

func benchmarkDiff(b *testing.B, rule Rule, memory *Memory) {
	observed, desired := pod(b)
	in := Input{Owner: owner, Rules: []Rule{rule}, Memory: memory}
	for i := range 1000 {
		name := desired.GetName() + string(rune('a'+i%26)) + string(rune('a'+i/26))
		o, d := observed.DeepCopy(), desired.DeepCopy()
		o.SetName(name)
		o.SetResourceVersion("7")
		d.SetName(name)
		out, err := remember(o.Object, d.Object)
		if err != nil {
			b.Fatal(err)
		}
		in.Observed = append(in.Observed, &unstructured.Unstructured{Object: out})
		in.Desired = append(in.Desired, d)
	}
	b.ReportAllocs()
	for b.Loop() {
		if changes, err := Diff(in); err != nil || len(changes) > 0 {
			b.Fatal(err, steps(changes))
		}
	}
}
