package javascript

import (
	"fmt"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// BenchmarkRun calls the StatefulSet hook with requests of about 16 and 146 KB.
func BenchmarkRun(b *testing.B) {
	for _, replicas := range []int{3, 30} {
		b.Run(fmt.Sprintf("replicas=%d", replicas), func(b *testing.B) {
			program, err := engine{}.Compile(b.Context(), source(b, enginetest.StatefulSet))
			if err != nil {
				b.Fatal(err)
			}
			request := enginetest.StatefulSetRequest(replicas, replicas, replicas)
			call := engines.Call{Request: request, Now: time.Unix(0, 0)}
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
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (engine{}).Compile(b.Context(), source(b, enginetest.StatefulSet)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkModule loads and calls a hook that does next to nothing, without and with the host's own module.
func BenchmarkModule(b *testing.B) {
	for name, text := range map[string]string{
		"without": `export const sync = ({ a }) => ({ status: a });`,
		"with":    `import { ordinalOf } from "libretto"; export const sync = ({ a }) => ({ status: ordinalOf(a, "web") });`,
	} {
		src := script(text)
		b.Run("load/"+name, func(b *testing.B) {
			for b.Loop() {
				if _, err := (engine{}).Compile(b.Context(), src); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("call/"+name, func(b *testing.B) {
			program, err := engine{}.Compile(b.Context(), src)
			if err != nil {
				b.Fatal(err)
			}
			call := engines.Call{Request: map[string]any{"a": "web-1"}, Now: time.Unix(0, 0)}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := program.Run(b.Context(), call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
