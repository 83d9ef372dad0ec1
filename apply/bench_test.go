package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/merge"
)

// BenchmarkMemory looks an object up that has not changed.
func BenchmarkMemory(b *testing.B) {
	observed, desired := applytest.Pod(b, "merge/testdata")
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
	known.Schema = applytest.Kinds(b, "merge/testdata")[podRule.Kind]
	b.Run("Compared", func(b *testing.B) { benchmarkDiff(b, podRule, nil) })
	b.Run("ComparedBySchema", func(b *testing.B) { benchmarkDiff(b, known, nil) })
	b.Run("Remembered", func(b *testing.B) { benchmarkDiff(b, known, NewMemory()) })
}

func benchmarkDiff(b *testing.B, rule Rule, memory *Memory) {
	observed, desired := applytest.Pod(b, "merge/testdata")
	in := Input{Owner: owner, Rules: []Rule{rule}, Memory: memory}
	for i := range 1000 {
		name := desired.GetName() + string(rune('a'+i%26)) + string(rune('a'+i/26))
		o, d := observed.DeepCopy(), desired.DeepCopy()
		o.SetName(name)
		o.SetResourceVersion("7")
		d.SetName(name)
		out, err := merge.WithAnnotation(o.Object, d.Object)
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
