package hooks

import (
	"context"
	"maps"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

const webhooksUnderTest scripts.RevisionID = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

func TestWebhookPreview(t *testing.T) {
	held := scripts.Preview{Held: "it would delete all"}
	type input struct {
		version  string
		approval string
	}
	type want struct {
		Passed      bool
		State       scripts.State
		Runs, Tells int
	}
	for name, c := range map[string]struct {
		reason   string
		previews []scripts.Preview // one after another, and then the last one
		inputs   []input
		want     want
	}{
		"no inputs yet": {reason: "what serves is not known", previews: []scripts.Preview{held}},
		"harmless": {
			reason: "it takes over, and is not previewed again", previews: []scripts.Preview{{Summary: "fine"}}, inputs: []input{{"1", ""}, {"2", ""}},
			want: want{Passed: true, State: scripts.State{Desired: webhooksUnderTest, Previewed: "fine"}, Runs: 1, Tells: 1},
		},
		"held": {
			reason: "the same inputs cost no preview", previews: []scripts.Preview{held}, inputs: []input{{"1", ""}, {"1", ""}},
			want: want{State: scripts.State{Desired: webhooksUnderTest, Held: held.Held}, Runs: 1, Tells: 1},
		},
		"held again": {
			reason: "what is the same is reported once", previews: []scripts.Preview{held}, inputs: []input{{"1", ""}, {"2", ""}},
			want: want{State: scripts.State{Desired: webhooksUnderTest, Held: held.Held}, Runs: 2, Tells: 1},
		},
		"mended": {
			reason: "a server may be mended", previews: []scripts.Preview{held, {Summary: "fine"}}, inputs: []input{{"1", ""}, {"2", ""}},
			want: want{Passed: true, State: scripts.State{Desired: webhooksUnderTest, Previewed: "fine"}, Runs: 2, Tells: 2},
		},
		"later": {
			reason: "it waits until there can be a preview", previews: []scripts.Preview{{Later: true}}, inputs: []input{{"1", ""}},
			want: want{State: scripts.State{Desired: webhooksUnderTest, Previewing: webhooksUnderTest}, Runs: 1, Tells: 1},
		},
		"approved": {
			reason: "no server is called", previews: []scripts.Preview{held}, inputs: []input{{"1", string(webhooksUnderTest)}},
			want: want{
				Passed: true, Tells: 1,
				State: scripts.State{Desired: webhooksUnderTest, Approved: webhooksUnderTest, Previewed: "approved by name"},
			},
		},
		"approved by its first digits": {
			reason: "that is what messages have", previews: []scripts.Preview{held}, inputs: []input{{"1", ""}, {"1", webhooksUnderTest.Short()}},
			want: want{
				Passed: true, Runs: 1, Tells: 2,
				State: scripts.State{Desired: webhooksUnderTest, Approved: webhooksUnderTest, Previewed: "approved by name"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got want
				w := &WebhookPreview{id: webhooksUnderTest, changed: func() { got.Tells++ }, wake: make(chan struct{}, 1)}
				w.Start(func(context.Context) scripts.Preview {
					p := c.previews[min(got.Runs, len(c.previews)-1)]
					got.Runs++
					return p
				})
				defer w.close()
				for _, in := range c.inputs {
					w.SetInputs(in.version, in.approval)
					synctest.Wait()
				}
				got.Passed, got.State = w.isPassed(), w.State()
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
				}
			})
		})
	}
}

func TestPreviewable(t *testing.T) {
	webhook, harmless, script := &v1alpha1.Webhook{}, &v1alpha1.Webhook{SideEffects: v1alpha1.SideEffectClassNone}, &v1alpha1.Script{}
	for name, c := range map[string]struct {
		reason string
		hook   v1alpha1.Hook
		want   []string
	}{
		"script":          {"A script has no side effects.", v1alpha1.Hook{Script: script}, []string{"script"}},
		"webhook":         {"Nothing is known of a server.", v1alpha1.Hook{Webhook: webhook}, nil},
		"harmless":        {"The definition says that it may be called.", v1alpha1.Hook{Webhook: harmless}, []string{"webhook"}},
		"shadowed":        {"A shadow script does not serve.", v1alpha1.Hook{Webhook: webhook, Script: script, Shadow: v1alpha1.ScriptBackend}, nil},
		"harmless shadow": {"Nor does a shadow webhook.", v1alpha1.Hook{Webhook: harmless, Script: script, Shadow: v1alpha1.WebhookBackend}, []string{"script"}},
	} {
		t.Run(name, func(t *testing.T) {
			type named struct {
				engines.Program
				name string
			}
			h := &Hooks{webhooks: map[string]engines.Program{"sync": named{name: "webhook"}}}
			plan := &plan.Plan{Hooks: []v1alpha1.NamedHook{{Name: v1alpha1.SyncHook, Hook: &c.hook}}}
			var got []string
			revision := &scripts.Revision{Programs: map[string]engines.Program{"sync": named{name: "script"}}}
			for _, program := range slices.Collect(maps.Values(h.Previewable(plan, revision))) {
				got = append(got, program.(named).name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", c.reason, diff)
			}
		})
	}
}
