package cel

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// BenchmarkRun calls the StatefulSet hook with requests of about 16 and 146 KB.
func BenchmarkRun(b *testing.B) {
	for _, replicas := range []int{3, 30} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			program, err := compile(b, source(b, enginetest.StatefulSet))
			if err != nil {
				b.Fatal(err)
			}
			call := engines.Call{Request: enginetest.StatefulSetRequest(replicas, replicas, replicas)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := program.Run(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	engine, err := Definition().New(engines.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := engine.Compile(b.Context(), source(b, enginetest.StatefulSet)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		if _, err := Definition().New(engines.Config{}); err != nil {
			b.Fatal(err)
		}
	}
}
