package controllertest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/engines"
)

// webhookEngine is the name of the engine in the registry.
const webhookEngine = "webhook"

// cannedResponses are the responses of a case's webhooks, by hook.
type cannedResponses struct {
	mu     sync.Mutex
	byHook map[string]WebhookResponse
}

// add replaces responses.
func (c *cannedResponses) add(responses map[string]WebhookResponse) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byHook == nil {
		c.byHook = map[string]WebhookResponse{}
	}
	maps.Copy(c.byHook, responses)
}

func (c *cannedResponses) of(hook string) (WebhookResponse, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	response, ok := c.byHook[hook]
	return response, ok
}

// newWebhooks returns the programs of the webhooks of a plan. The webhook engine of hosts makes the requests, and a transport in memory
// responds.
func (r *runner) newWebhooks(plan *plan.Plan) (map[string]engines.Program, error) {
	webhooks := map[string]engines.Program{}
	for _, named := range plan.Hooks {
		if named.Hook.Webhook == nil {
			continue
		}
		engine, err := r.registry.ByName(webhookEngine)
		if err != nil {
			return nil, err
		}
		w := &cannedWebhook{hook: string(named.Name), timeout: named.Hook.Webhook.CallTimeout(), runner: r}
		endpoint := hooks.EndpointOf(named.Hook)
		endpoint.Transport = w
		w.Program, err = engine.Compile(context.Background(), engines.Source{Hook: w.hook, Endpoint: endpoint, Owner: plan.Config.Definition})
		if err != nil {
			return nil, fmt.Errorf("spec.hooks.%s.webhook: %w", w.hook, err)
		}
		webhooks[w.hook] = w
	}
	return webhooks, nil
}

// useResponses makes webhooks respond so from now on. It returns an error for a hook that has no webhook.
func (r *runner) useResponses(field string, responses map[string]WebhookResponse) error {
	for _, hook := range slices.Sorted(maps.Keys(responses)) {
		has := func(named v1alpha1.NamedHook) bool { return string(named.Name) == hook && named.Hook.Webhook != nil }
		if r.base.Plan != nil && !slices.ContainsFunc(r.base.Plan.Hooks, has) {
			return r.unusable(join(field, hook), "the definition has no webhook for a hook %s", hook)
		}
	}
	r.hooks.responses.add(responses)
	return nil
}

// cannedWebhook is a webhook whose server is a canned response.
type cannedWebhook struct {
	engines.Program
	hook    string
	timeout time.Duration
	runner  *runner
}

// Run makes the request, unless the case has no response for it.
func (w *cannedWebhook) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	if _, ok := w.runner.hooks.responses.of(w.hook); !ok {
		return engines.Response{}, &engines.Error{Kind: engines.Failed, Message: fmt.Sprintf(
			"this hook is a webhook, which is not called in tests: give its response, "+
				"as in webhooks: {%s: {body: {...}}} or {%s: {statusCode: 503}}",
			w.hook, w.hook)}
	}
	response, err := w.Program.Run(&endingContext{Context: ctx}, call)
	response.Logs = nil // They have the number of the request, which is random.
	return response, err
}

// RoundTrip returns the canned response. A response that takes longer than the hook's timeout ends the call at once, on the clock of the
// case when it is over.
func (w *cannedWebhook) RoundTrip(request *http.Request) (*http.Response, error) {
	canned, _ := w.runner.hooks.responses.of(w.hook)
	if request.Body != nil {
		_ = request.Body.Close()
	}
	if canned.Delay != nil {
		w.runner.clock.Step(min(canned.Delay.Duration, w.timeout))
		if canned.Delay.Duration >= w.timeout {
			if ctx, ok := request.Context().Value(endingKey{}).(*endingContext); ok {
				ctx.ended.Store(true)
			}
			return nil, context.DeadlineExceeded
		}
	}
	return canned.response(request)
}

func (c WebhookResponse) response(request *http.Request) (*http.Response, error) {
	body := []byte(c.Text)
	header := http.Header{}
	if c.Body != nil {
		var err error
		if body, err = json.Marshal(c.Body); err != nil {
			return nil, err
		}
		header.Set("Content-Type", "application/json")
	}
	for name, value := range c.Headers {
		header.Set(name, value)
	}
	status := c.StatusCode
	if etag := header.Get("Etag"); etag != "" && status == 0 && strings.Contains(request.Header.Get("If-None-Match"), etag) {
		status, body = http.StatusNotModified, nil
	}
	if status == 0 {
		status = http.StatusOK
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: request,
	}, nil
}

// endingContext is a context whose deadline can be over at once. Nothing waits for it: the one who ends it returns.
type endingContext struct {
	context.Context
	ended atomic.Bool
}

type endingKey struct{}

// Value returns the context itself for endingKey.
func (c *endingContext) Value(key any) any {
	if key == (endingKey{}) {
		return c
	}
	return c.Context.Value(key)
}

// Err returns the error of the outer context, or DeadlineExceeded.
func (c *endingContext) Err() error {
	if c.ended.Load() {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}
