package hosting

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/libretto-k8s/libretto/test/env"
)

// collector is an OpenTelemetry collector that keeps spans.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	// service is what the resource of the spans says.
	service string
}

func startCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data tracepb.TracesData
		if err != nil || r.URL.Path != "/v1/traces" || r.Header.Get("Authorization") != "Bearer x" || proto.Unmarshal(body, &data) != nil {
			http.Error(w, "what is this?", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, resource := range data.GetResourceSpans() {
			for _, attribute := range resource.GetResource().GetAttributes() {
				if attribute.GetKey() == "service.name" {
					c.service = attribute.GetValue().GetStringValue()
				}
			}
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// attribute returns an attribute of a span as text.
func attribute(span *tracepb.Span, key string) string {
	for _, a := range span.GetAttributes() {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}

// names returns the names of the spans of a trace, with their outcomes.
func (c *collector) names(first *tracepb.Span) []string {
	var names []string
	for _, span := range c.spans {
		if bytes.Equal(span.GetTraceId(), first.GetTraceId()) {
			names = append(names, strings.TrimSpace(span.GetName()+" "+attribute(span, "libretto.outcome")))
		}
	}
	return names
}

// waitFor waits for a trace that has all of these spans and begins with one of that name and object, and returns that.
func (c *collector) waitFor(e *env.Env, name, object string, want ...string) (found *tracepb.Span) {
	e.T.Helper()
	e.Eventually(func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		var all []string
		for _, span := range c.spans {
			if len(span.GetParentSpanId()) > 0 || span.GetName() != name || attribute(span, "k8s.object.name") != object {
				continue
			}
			names := c.names(span)
			if !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(names, name) }) {
				found = span
				return nil
			}
			all = append(all, fmt.Sprintf("%q", names))
		}
		return fmt.Errorf("traces %s, want one with %q", all, want)
	})
	return found
}

// A host with a collector sends one trace of an edit, which syncs link to, and one of a sync, with its hook and its writes. A webhook is
// told of the span of its request.
func TestTraces(t *testing.T) {
	c := startCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")
	t.Setenv("OTEL_SERVICE_NAME", "tested")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "100")
	e := newEnv(t)
	script := `export const sync = ({parent: {metadata: {name}}}) => ({
	  children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name, labels: {thing: name}}, data: {text: "swordfish"}}], status: {count: 1},
	});`
	definition := define(e, "", script, "childResources: [{apiVersion: v1, resource: configmaps}]")
	edit := c.waitFor(e, "edit scripts", "", "edit scripts serves", "load scripts")
	applyThing(e, "a", "")
	e.WaitFor(e.Things(), "a", hasCount(1))
	reconcile := c.waitFor(e, "reconcile", "a", "reconcile success", "hook sync", "create configmaps")
	c.waitFor(e, "reconcile", "a", "reconcile success", "update things."+e.Group+"/status")
	if got := attribute(reconcile, "libretto.definition"); got != "CompositeController "+definition {
		t.Errorf("the sync is of the definition %q", got)
	}
	if links := reconcile.GetLinks(); len(links) != 1 || string(links[0].GetTraceId()) != string(edit.GetTraceId()) {
		t.Errorf("the sync has the links %v, want one to the edit", links)
	}

	var mu sync.Mutex
	var told string
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		told = r.Header.Get("traceparent")
		fmt.Fprint(w, `{"children": [], "status": {"said": "yes"}}`)
	}))
	t.Cleanup(hook.Close)
	e.PatchDefinition(env.Composite, definition, fmt.Sprintf(`{"spec": {"hooks": {"sync": {"script": null, "webhook": {"url": %q}}}}}`, hook.URL))
	e.WaitFor(e.Things(), "a", env.HasField("yes", "status", "said"))
	e.Eventually(func() error {
		mu.Lock()
		defer mu.Unlock()
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, span := range c.spans {
			if told == fmt.Sprintf("00-%x-%x-01", span.GetTraceId(), span.GetSpanId()) && span.GetName() == "POST" {
				return nil
			}
		}
		return fmt.Errorf("the webhook was told %q, which is no span of a request", told)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := fmt.Sprint(c.spans); c.service != "tested" || strings.Contains(all, "swordfish") {
		t.Errorf("the service is %q; the spans have content of objects:\n%s", c.service, all)
	}
}
