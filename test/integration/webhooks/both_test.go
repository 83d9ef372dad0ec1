package webhooks

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestFallback shows when the webhook answers in place of the script.
func TestFallback(t *testing.T) {
	s := newStage(t)
	server := serve(t, nil)
	server.says(wanting("webhook"))
	const pickup = `export const sync = ({parent}) => {
  if (parent.spec.endless) { while (true); }
  if (parent.spec.throws) { throw new Error("no good"); }
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: "script"}}]};
};`
	store := func(text string) {
		s.Apply(fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: scripts}, data: {"sync.js": %s}}`, env.Quote(text)))
	}
	store("export const sync = ({parent}) => {")
	name := s.definition("fallback", fmt.Sprintf("{script: {path: sync.js, timeout: 2s}, webhook: {url: %q}, fallback: Webhook}", server.URL),
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: scripts}}]", s.Namespace))
	s.thing("fallback", "a") // The timeout is long enough for a script that answers, however busy the machine is.
	// The script has never loaded.
	s.holds("a", "webhook")
	s.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "sync.js:1")
	s.WaitForCondition(name, "Ready", "True")
	s.counted(1, "libretto_hook_fallback_total", hookOf(name, "reason", "NotLoaded"))
	// Once it has, it serves.
	store(pickup)
	s.holds("a", "script")
	s.WaitForCondition(name, "ScriptsReady", "True")
	// An edit that does not load leaves the last good text, not the webhook.
	store("export const sync = (")
	s.WaitForCondition(name, "ScriptsReady", "False", "goes on serving")
	s.thing("fallback", "b")
	s.holds("b", "script")
	store(pickup)
	// It takes too long: the webhook answers that call.
	s.Patch(s.things, "a", `{"spec": {"endless": true}}`)
	s.holds("a", "webhook")
	s.counted(1, "libretto_hook_fallback_total", hookOf(name, "reason", "HookTimedOut"))
	// It throws: that is to be seen.
	s.Patch(s.things, "b", `{"spec": {"throws": true}}`)
	s.WaitForEvent("b", "SyncError", "HookFailed: sync hook: ", "no good")
	s.holds("b", "script")
}

// TestShadow shows the way of a webhook to a script: nothing but what serves is applied.
func TestShadow(t *testing.T) {
	s := newStage(t)
	server := serve(t, nil)
	outcome := func(name, outcome string) map[string]string { return hookOf(name, "outcome", outcome) }
	hook := func(value, shadow string) string {
		return fmt.Sprintf("{script: {engine: JavaScript, inline: %s}, webhook: {url: %q, timeout: 2s}, %s}", script(value), server.URL, shadow)
	}
	// The webhook serves, and a script that says something else is seen.
	name := s.definition("shadow", hook("no", "shadow: Script"), "")
	s.thing("shadow", "a")
	s.holds("a", "yes")
	s.counted(1, "libretto_hook_shadow_total", outcome(name, "different"))
	// A script that says the same is seen too.
	s.definition("shadow", hook("yes", "shadow: Script"), "")
	s.counted(1, "libretto_hook_shadow_total", outcome(name, "equal"))
	s.holds("a", "yes")
	// Now the script serves, and the webhook is asked by the way.
	s.definition("shadow", hook("new", "shadow: Webhook, fallback: Webhook"), "")
	s.holds("a", "new")
	s.counted(2, "libretto_hook_shadow_total", outcome(name, "different"))
	// Whatever becomes of the shadow, parents are none the wiser.
	server.says(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	for n := range 40 {
		s.thing("shadow", fmt.Sprint("held-", n))
	}
	for n := range 40 {
		s.holds(fmt.Sprint("held-", n), "new")
	}
	s.counted(1, "libretto_hook_shadow_total", outcome(name, "failed"))
	s.Delete(env.CompositeControllers, "", name)
	s.uncounted("libretto_hook_shadow_total", hookOf(name))
}
