package webhooks

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestFallback shows when the webhook answers in place of the script.
func TestFallback(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(wanting("webhook"))
	const pickup = `export const sync = ({parent}) => {
  if (parent.spec.endless) { while (true); }
  if (parent.spec.throws) { throw new Error("no good"); }
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: "script"}}]};
};`
	store := func(text string) {
		e.Apply(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: scripts}, data: {"sync.js": %s}}`, env.Quote(text)))
	}
	store("export const sync = ({parent}) => {")
	name := define(e, "fallback", fmt.Sprintf("{script: {path: sync.js, timeout: 2s}, webhook: {url: %q}, fallback: Webhook}", server.URL),
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: scripts}}]", e.Namespace))
	applyThing(e, "fallback", "a") // The timeout is long enough for a script that answers, however busy the machine is.
	// The script has never loaded.
	waitForValue(e, "a", "webhook")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "sync.js:1")
	e.WaitForCondition(name, "Ready", "False", "ScriptInvalid", "parents are synced")
	e.WaitForMetric(1, "libretto_definition_hook_fallback_total", hookOf(name, "reason", "NotLoaded"))
	// Once it has, it serves.
	store(pickup)
	waitForValue(e, "a", "script")
	e.WaitForCondition(name, "ScriptsReady", "True")
	// An edit that does not load leaves the last good text, not the webhook.
	store("export const sync = (")
	e.WaitForCondition(name, "ScriptsReady", "False", "goes on serving")
	applyThing(e, "fallback", "b")
	waitForValue(e, "b", "script")
	store(pickup)
	// It takes too long: the webhook answers that call.
	e.Patch(e.Things(), "a", `{"spec": {"endless": true}}`)
	waitForValue(e, "a", "webhook")
	e.WaitForMetric(1, "libretto_definition_hook_fallback_total", hookOf(name, "reason", "HookTimedOut"))
	// It throws: that is to be seen.
	e.Patch(e.Things(), "b", `{"spec": {"throws": true}}`)
	e.WaitForEvent("b", "SyncError", "HookFailed: sync hook: ", "no good")
	waitForValue(e, "b", "script")
}

// TestShadow shows the way of a webhook to a script: nothing but what serves is applied.
func TestShadow(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	outcome := func(name, outcome string) map[string]string { return hookOf(name, "outcome", outcome) }
	hook := func(value, shadow string) string {
		return fmt.Sprintf("{script: {engine: JavaScript, inline: %s}, webhook: {url: %q, timeout: 2s}, %s}", script(value), server.URL, shadow)
	}
	// The webhook serves, and a script that says something else is seen.
	name := define(e, "shadow", hook("no", "shadow: Script"), "")
	applyThing(e, "shadow", "a")
	waitForValue(e, "a", "yes")
	e.WaitForMetric(1, "libretto_definition_hook_shadow_total", outcome(name, "different"))
	// A script that says the same is seen too.
	define(e, "shadow", hook("yes", "shadow: Script"), "")
	e.WaitForMetric(1, "libretto_definition_hook_shadow_total", outcome(name, "equal"))
	waitForValue(e, "a", "yes")
	// Now the script serves, and the webhook is asked by the way.
	define(e, "shadow", hook("new", "shadow: Webhook, fallback: Webhook"), "")
	waitForValue(e, "a", "new")
	e.WaitForMetric(2, "libretto_definition_hook_shadow_total", outcome(name, "different"))
	// Whatever the shadow answers, parents are not affected.
	server.says(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for n := range 40 {
		applyThing(e, "shadow", fmt.Sprint("held-", n))
	}
	for n := range 40 {
		waitForValue(e, fmt.Sprint("held-", n), "new")
	}
	e.WaitForMetric(1, "libretto_definition_hook_shadow_total", outcome(name, "failed"))
	e.Delete(env.CompositeControllers, "", name)
	e.WaitForNoMetric("libretto_definition_hook_shadow_total", hookOf(name))
}
