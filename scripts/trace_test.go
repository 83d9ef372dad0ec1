package scripts_test

import (
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

// TestTracedEdits checks that each edit has one trace, which goes on when it is looked at again, and that a look that finds nothing new
// has none.
func TestTracedEdits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newEnv(t)
		exporter := tracetest.NewInMemoryExporter()
		w.library.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
		previewer := &fakePreviewer{}
		spec := from("one")
		spec.Preview = previewer.preview
		w.tree = w.open(spec)
		var traces []string
		for _, c := range []struct {
			why  string
			do   []step
			want []string
		}{
			{"the first text", []step{sync("one")}, []string{"load scripts", "preview scripts passed", "edit scripts serves"}},
			{"an edit of something else", []step{label}, nil},
			{"an edit that would do harm", []step{sync("harm")}, []string{"load scripts", "preview scripts held", "edit scripts held"}},
			{"its approval goes on with its trace", []step{ofConfigMaps, approve(false)}, []string{
				"preview scripts held", "edit scripts held", "edit scripts serves",
			}},
			{"an edit that does not load", []step{sync("bad")}, []string{"load scripts", "edit scripts ScriptInvalid failed"}},
		} {
			exporter.Reset()
			for _, do := range c.do {
				do(w)
				synctest.Wait()
			}
			var got []string
			for _, span := range exporter.GetSpans() {
				line := span.Name
				for _, attribute := range span.Attributes {
					if attribute.Key == tracing.Outcome || attribute.Key == "error.type" {
						line += " " + attribute.Value.Emit()
					}
				}
				got, traces = append(got, line), append(traces, span.SpanContext.TraceID().String())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: other spans (-want +got):\n%s", c.why, diff)
			}
		}
		if traces = slices.Compact(traces); len(traces) != 3 {
			t.Errorf("%d traces, want one for each edit: %q", len(traces), traces)
		}
		if revision := w.tree.Current(); revision == nil || revision.Edit.TraceID().String() != traces[1] {
			t.Errorf("the revision that serves does not name the trace of its edit, %q", traces)
		}
	})
}
