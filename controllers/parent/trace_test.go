package parent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// described returns the spans of a trace, each with its parent and what it says, without what differs in each run.
func described(spans tracetest.SpanStubs) []string {
	names := map[trace.SpanID]string{}
	for _, span := range spans {
		names[span.SpanContext.SpanID()] = span.Name
	}
	var lines []string
	for _, span := range spans {
		line := span.Name
		if parent := names[span.Parent.SpanID()]; parent != "" {
			line = parent + " > " + line
		}
		for _, attribute := range span.Attributes {
			if attribute.Key != "k8s.object.uid" {
				line += fmt.Sprintf(" %s=%s", strings.TrimPrefix(string(attribute.Key), "libretto."), attribute.Value.Emit())
			}
		}
		if len(span.Links) > 0 {
			line += " links"
		}
		lines = append(lines, strings.TrimSpace(line+" "+span.Status.Code.String()+span.Status.Description))
	}
	slices.Sort(lines)
	return lines
}

// TestTrace checks the spans of syncs: those that have anything to do have them, with what they did, and nothing that hooks say.
func TestTrace(t *testing.T) {
	host, key, things := startBenchmarked(t)
	exporter := tracetest.NewInMemoryExporter()
	host.env.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
	programs, edit := host.config.Programs(nil), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})
	reconcile := func(text string) []string {
		exporter.Reset()
		patch := fmt.Sprintf(`{"spec":{"text":%q}}`, text)
		if _, err := things.Patch(t.Context(), "p", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		host.settleEvents()
		_, _ = host.Reconcile(t.Context(), key)
		host.settleEvents()
		host.queue.clock.Step(time.Minute)
		return described(exporter.GetSpans())
	}
	programs.Edit = edit
	host.config.Programs = programsOf(programs)
	object := " k8s.namespace.name=default k8s.object.kind=Thing k8s.object.name=p"
	want := []string{
		"reconcile > hook sync definition=Test edits hook=sync Unset",
		"reconcile revision=1 calls.cached=0 definition=Test edits outcome=success" + object + " links Unset",
	}
	if diff := cmp.Diff(want, reconcile("1")); diff != "" {
		t.Errorf("a sync that calls a hook has other spans (-want +got):\n%s", diff)
	}
	reconcile("1") // The hook has read the children that were written.
	if got := reconcile("1"); len(got) > 0 {
		t.Errorf("a sync that finds nothing to do has spans: %s", got)
	}
	host.config.Programs = programsOf(failingPrograms(errors.New("the password is swordfish")))
	want = []string{
		"reconcile > hook sync definition=Test edits hook=sync error.type=HookFailed Error",
		"reconcile revision=2 calls.cached=0 definition=Test edits outcome=error" + object + " error.type=HookFailed Error",
	}
	if diff := cmp.Diff(want, reconcile("2")); diff != "" {
		t.Errorf("a sync that fails has other spans (-want +got):\n%s", diff)
	}
}

// TestUntracedPassAllocations checks that tracing takes no memory in the syncs of a host that traces nothing: the seams below are all that
// a sync and a call pass.
func TestUntracedPassAllocations(t *testing.T) {
	host, key, _ := startBenchmarked(t)
	parent, _ := host.find(key)
	p := host.newPass(key, parent, nil)
	ctx := context.WithValue(t.Context(), controller.Key{}, 1)
	allocations := testing.AllocsPerRun(100, func() {
		ctx := host.beginTrace(ctx, time.Time{})
		called, span := p.startHook(ctx, "sync")
		endHook(span, nil)
		p.traceInputs(called)
		host.endTrace(ctx, parent, controller.Result{}, nil)
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}

func programsOf(programs Programs) func(*unstructured.Unstructured) Programs {
	return func(*unstructured.Unstructured) Programs { return programs }
}

// failingPrograms returns another revision, whose hook fails.
func failingPrograms(err error) Programs {
	hook := editedProgram{answer: func(map[string]any) (engines.Response, error) {
		return engines.Response{}, &engines.Error{Kind: engines.Failed, Message: err.Error()}
	}}
	return Programs{Revision: "2", ByHook: map[string]engines.Program{"sync": hook}}
}
