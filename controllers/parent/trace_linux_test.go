package parent

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkTracedPass measures the processor time of passes that update all children and the status of a parent, with and without spans:
// blocks of passes in turns, so that what else the machine does counts for both. What exports the spans, to nowhere, is in the figure.
func BenchmarkTracedPass(b *testing.B) {
	const block = 20
	host, key, things := startBenchmarked(b)
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(tracetest.NewNoopExporter()))
	b.Cleanup(func() { _ = provider.Shutdown(context.Background()) })
	tracers := []trace.Tracer{nil, provider.Tracer("test")}
	var took [2][]time.Duration
	var passes time.Duration
	for n := 0; b.Loop(); n++ {
		side := n / block % 2
		host.env.Tracer = tracers[side]
		patch := fmt.Sprintf(`{"spec":{"text":"%d"}}`, n)
		if _, err := things.Patch(b.Context(), "p", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			b.Fatal(err)
		}
		host.settleEvents()
		began := processorTime(b)
		if _, err := host.Reconcile(b.Context(), key); err != nil {
			b.Fatal(err)
		}
		if n%block == block-1 {
			_ = provider.ForceFlush(b.Context())
		}
		passes += processorTime(b) - began
		if n%block == block-1 {
			took[side], passes = append(took[side], passes/block), 0
		}
		host.settleEvents()
		host.queue.clock.Step(time.Minute)
	}
	for side, unit := range []string{"off-ns/pass", "on-ns/pass"} {
		if slices.Sort(took[side]); len(took[side]) > 0 {
			b.ReportMetric(float64(took[side][len(took[side])/2]), unit)
		}
	}
}

// processorTime returns how much the process has used.
func processorTime(b *testing.B) time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
		b.Fatal(err)
	}
	return time.Duration(now.Nano())
}
