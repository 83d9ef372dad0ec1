package hooks

import (
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/engines"
)

// brokenProgram has an open circuit for the first left calls of CircuitOpen.
type brokenProgram struct {
	engines.Program
	left int
}

func (r *brokenProgram) CircuitOpen() *engines.Error {
	if r.left--; r.left < 0 {
		return nil
	}
	return &engines.Error{Kind: engines.Exhausted, Message: "not called"}
}

func TestResting(t *testing.T) {
	script, webhook := &v1alpha1.Script{}, &v1alpha1.Webhook{}
	cases := map[string]struct {
		reason string
		left   int
		hook   *v1alpha1.Hook
		want   string
	}{
		"Not":      {"A script that is called is not reported.", 0, nil, ""},
		"Rests":    {"One that is not called is reported.", 9, nil, "sync hook: not called"},
		"Ends":     {"It may end at any moment, even during the report.", 1, nil, "sync hook: not called"},
		"Fallback": {"A webhook that answers in its place keeps parents synced.", 9, &v1alpha1.Hook{Script: script, Webhook: webhook, Fallback: v1alpha1.WebhookBackend}, ""},
		"Shadow":   {"A script that is only compared delays no parent.", 9, &v1alpha1.Hook{Script: script, Webhook: webhook, Shadow: v1alpha1.ScriptBackend}, ""},
		"Shadowed": {"A script that serves does.", 9, &v1alpha1.Hook{Script: script, Webhook: webhook, Shadow: v1alpha1.WebhookBackend}, "sync hook: not called"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			withWebhook := map[string]*v1alpha1.Hook{"sync": tc.hook}
			if got := describeOpenCircuits(map[string]engines.Program{"sync": &brokenProgram{left: tc.left}}, withWebhook); got != tc.want {
				t.Errorf("%s\ngot %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
