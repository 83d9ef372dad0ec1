package hooks

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/failover"
)

// stubProgram is a program that answers itself, or fails if it is "limit".
type stubProgram struct {
	engines.ProgramBase
	text string
}

func newStub(text string) stubProgram { return stubProgram{text: text} }

func (s stubProgram) Run(context.Context, engines.Call) (engines.Response, error) {
	if s.text == "limit" {
		return engines.Response{}, &engines.Error{Kind: engines.Exhausted, Message: "over a limit"}
	}
	return engines.Response{Body: s.text}, nil
}

// TestTwoBackends checks which of the two answers, and the timeout.
func TestTwoBackends(t *testing.T) {
	const script, webhook = v1alpha1.ScriptBackend, v1alpha1.WebhookBackend
	cases := map[string]struct {
		reason           string
		fallback, shadow v1alpha1.HookBackend
		script           engines.Program
		want             string // "" means that the hook can't be called
		timeout          time.Duration
	}{
		"fallback":                    {"the script serves", webhook, "", newStub("script"), "script", 12 * time.Second},
		"fallback, not loaded":        {"the webhook serves until it has", webhook, "", nil, "webhook", 12 * time.Second},
		"fallback, over a limit":      {"the webhook answers that call", webhook, "", newStub("limit"), "webhook", 12 * time.Second},
		"script in the shadow":        {"the webhook serves", "", script, newStub("script"), "webhook", 10 * time.Second},
		"unloaded in the shadow":      {"the webhook needs no script", "", script, nil, "webhook", 10 * time.Second},
		"webhook in the shadow":       {"the script serves", "", webhook, newStub("script"), "script", 2 * time.Second},
		"shadow, not loaded":          {"no program can be called", "", webhook, nil, "", 2 * time.Second},
		"both":                        {"the script serves", webhook, webhook, newStub("script"), "script", 12 * time.Second},
		"both, not loaded":            {"the webhook steps in and is not called twice", webhook, webhook, nil, "webhook", 12 * time.Second},
		"both, script over a limit":   {"the webhook steps in and is not called twice", webhook, webhook, newStub("limit"), "webhook", 12 * time.Second},
		"shadow, script at its limit": {"the failure is the script's answer", "", webhook, newStub("limit"), "over a limit", 2 * time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			hook := &v1alpha1.Hook{Script: &v1alpha1.Script{}, Webhook: &v1alpha1.Webhook{}, Fallback: c.fallback, Shadow: c.shadow}
			h := &Hooks{webhooks: map[string]engines.Program{"sync": newStub("webhook")}, failovers: failovers{
				definition: "d", combiner: failover.New(prometheus.NewRegistry(), logr.Discard()), hooks: map[string]*v1alpha1.Hook{"sync": hook},
			}}
			loaded := map[string]engines.Program{}
			if c.script != nil {
				loaded["sync"] = c.script
			}
			if got := outcomeOf(h.byHook(loaded)["sync"]); got != c.want {
				t.Errorf("outcome %q, want %q", got, c.want)
			}
			if got := CallTimeout(hook); got != c.timeout {
				t.Errorf("may take %s, want %s", got, c.timeout)
			}
		})
	}
}

func outcomeOf(program engines.Program) string {
	if program == nil {
		return ""
	}
	response, err := program.Run(context.Background(), engines.Call{})
	var failure *engines.Error
	if errors.As(err, &failure) {
		return failure.Message
	}
	return fmt.Sprint(response.Body)
}

func TestEtagOf(t *testing.T) {
	yes, no, minute := true, false, int32(60)
	cases := map[string]struct {
		given *v1alpha1.WebhookEtag
		want  engines.Etag
		off   bool
	}{
		"absent":   {nil, engines.Etag{}, true},
		"empty":    {&v1alpha1.WebhookEtag{}, engines.Etag{}, true},
		"disabled": {&v1alpha1.WebhookEtag{Enabled: &no, CacheTimeoutSeconds: &minute}, engines.Etag{}, true},
		"enabled":  {&v1alpha1.WebhookEtag{Enabled: &yes}, engines.Etag{}, false},
		"times":    {&v1alpha1.WebhookEtag{Enabled: &yes, CacheTimeoutSeconds: &minute, CacheCleanupSeconds: &minute}, engines.Etag{Expiry: time.Minute, Cleanup: time.Minute}, false},
	}
	for name, c := range cases {
		got := etagOf(&v1alpha1.Webhook{Etag: c.given})
		if (got == nil) != c.off || got != nil && *got != c.want {
			t.Errorf("%s: %v, want %v (off: %v)", name, got, c.want, c.off)
		}
	}
}
