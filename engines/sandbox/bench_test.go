//go:build unix

package sandbox_test

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/javascript"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// statefulSet is a real hook. It runs in the pool, or in this process if pool is nil.
func statefulSet(b *testing.B, pool *sandbox.Pool) engines.Program {
	b.Helper()
	engine, err := javascript.Definition().New(engines.Config{})
	if err != nil {
		b.Fatal(err)
	}
	if pool != nil {
		engine = engineOf(b, pool, "JavaScript")
	}
	program, err := engine.Compile(b.Context(), suites["JavaScript"].Source(b, enginetest.StatefulSet))
	if err != nil {
		b.Fatal(err)
	}
	return program
}

// BenchmarkCall calls a hook with requests of about 6, 50 and 500 KB, in this process and in workers:
// with objects that the worker has not seen, and with the same objects each time.
func BenchmarkCall(b *testing.B) {
	pool := newPool(b, sandbox.Config{})
	for _, replicas := range []int{1, 10, 100} {
		request := enginetest.StatefulSetRequest(replicas, replicas, replicas)
		for _, where := range []string{"in-process", "worker-new", "worker-same"} {
			b.Run(fmt.Sprintf("%s/replicas=%d", where, replicas), func(b *testing.B) {
				program := statefulSet(b, nil)
				if where != "in-process" {
					program = statefulSet(b, pool)
				}
				call := engines.Call{Request: request, Now: time.Unix(0, 0), Seed: "uid"}
				b.ReportAllocs()
				for b.Loop() {
					if where == "worker-new" {
						b.StopTimer()
						call.Request = runtime.DeepCopyJSON(request)
						b.StartTimer()
					}
					if _, err := program.Run(b.Context(), call); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkSpawn starts a pool, compiles a tiny program in its first worker, and closes the pool.
func BenchmarkSpawn(b *testing.B) {
	for b.Loop() {
		pool := sandbox.New(sandbox.Config{Workers: 1})
		compiled(b, pool, alive)
		pool.Close()
	}
}
