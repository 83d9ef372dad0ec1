package apply

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	merged, err := Merge(observed, desired)
	if err != nil || merged != observed {
		t.Errorf("error %v, differs in %v", err, Describe(observed, merged))
	}
	if n := testing.AllocsPerRun(100, func() { _, _ = Merge(observed, desired) }); n > 40 {
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
	for name, tc := range cases {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Merge(tc.observed, tc.desired); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	text, _ := json.Marshal(observed.Object)
	wanted, _ := json.Marshal(desired.Object)
	b.Logf("observed %d bytes of JSON, desired %d", len(text), len(wanted))
}

// BenchmarkDiff compares a thousand objects that are as they should be.
func BenchmarkDiff(b *testing.B) {
	observed, desired := pod(b)
	in := Input{Owner: owner, Rules: []Rule{podRule}}
	for i := range 1000 {
		name := desired.GetName() + string(rune('a'+i%26)) + string(rune('a'+i/26))
		o, d := observed.DeepCopy(), desired.DeepCopy()
		o.SetName(name)
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
