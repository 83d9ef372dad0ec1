package hosting

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// answering returns what the Thing says in spec.answer, as JSON.
const answering = `export const sync = ({parent}) => JSON.parse(parent.spec.answer);`

func TestBadResponsesLoseNothing(t *testing.T) {
	good := `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "NAME", "labels": {"thing": "NAME"}}}]}`
	cases := map[string]struct{ answer, want string }{
		"empty":      {`{}`, "children: is required"},
		"null":       {`null`, "answered null"},
		"list":       {`[]`, "answered a list"},
		"string":     {`"children"`, "answered a string"},
		"null-child": {`{"children": [null]}`, "children[0]: must be an object, but is null"},
		"no-name":    {`{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}]}`, "children[0].metadata.name: is required"},
		"misspelt":   {`{"Children": []}`, `children: is required`},
		"undeclared": {`{"children": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}]}`,
			"v1 Secret is not among spec.childResources"},
		"twice": {`{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"thing": "twice"}}}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"thing": "twice"}}}]}`, "stands at children[0] already"},
	}
	e := newEnv(t)
	definition := define(e, "", answering, childRule("InPlace"))
	e.WaitForCondition(definition, "Ready", "True")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			good := strings.ReplaceAll(good, "NAME", name)
			applyThing(e, name, "answer: "+env.Quote(good))
			child := e.WaitFor(env.ConfigMaps, name, nil)
			e.Patch(e.Things(), name, fmt.Sprintf(`{"spec": {"answer": %s}}`, env.Quote(tc.answer)))
			e.WaitForEvent(name, "SyncError", "HookResponseInvalid: sync hook: ", tc.want)
			if after := e.Get(env.ConfigMaps, name); after == nil || after.GetUID() != child.GetUID() || after.GetDeletionTimestamp() != nil {
				t.Errorf("the child is gone or was replaced: %v", after)
			}
			// It recovers by itself once the answer is right again.
			e.Patch(e.Things(), name, fmt.Sprintf(`{"spec": {"answer": %s}}`, env.Quote(`{"children": []}`)))
			e.WaitForDeletion(env.ConfigMaps, name, "")
		})
	}
	if e.Libretto().Ended() {
		t.Error("the process has died")
	}
}

func TestThrowingHookLeavesOthersWorking(t *testing.T) {
	e := newEnv(t)
	define(e, "", `
export function sync({parent}) {
  if (parent.spec.bad) {
    throw new Error("no good: " + parent.metadata.name);
  }
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name, labels: {thing: parent.metadata.name}}}]};
}`, childRule("InPlace"))
	applyThing(e, "bad", "bad: true")
	event := e.WaitForEvent("bad", "SyncError", "HookFailed: sync hook: ", "no good: bad", ":4:")
	if event.Type != "Warning" || event.Source.Component != "metacontroller" || event.Namespace != e.Namespace {
		t.Errorf("event %s of %s in %s, want a Warning of metacontroller in %s", event.Type, event.Source.Component, event.Namespace, e.Namespace)
	}
	applyThing(e, "good", "")
	e.WaitFor(env.ConfigMaps, "good", nil)
	e.Patch(e.Things(), "bad", `{"spec": {"bad": false}}`)
	e.WaitFor(env.ConfigMaps, "bad", nil)
}

func TestEndlessHookIsStopped(t *testing.T) {
	e := newEnv(t)
	name := e.Define(env.Composite, "", e.Parent("things", ""), env.UpdatedChildren, `hooks:
  sync:
    script: {engine: JavaScript, timeout: 300ms, inline: "export function sync({parent}) { while (parent.spec.endless); return {children: []}; }"}`)
	applyThing(e, "endless", "endless: true")
	e.WaitForEvent("endless", "SyncError", "HookTimedOut: sync hook: ")
	before := e.Reconciles(name, "success")
	applyThing(e, "quick", "endless: false")
	e.WaitForReconciles(name, before, 1)
}

func TestWebhook(t *testing.T) {
	e := newEnv(t)
	var calls, slow atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		request := struct {
			Controller, Parent unstructured.Unstructured
			Children           map[string]map[string]any
		}{}
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		if slow.Load() > 0 {
			<-r.Context().Done()
			return
		}
		name := request.Parent.GetName()
		fmt.Fprintf(rw, `{"status": {"said": %q}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q, "labels": {"thing": %q}}}]}`,
			request.Controller.GetName(), name, name)
	}))
	defer server.Close()
	e.Define(env.Composite, "", e.Parent("things", ""), "childResources: [{apiVersion: v1, resource: configmaps}]",
		fmt.Sprintf(`hooks: {sync: {webhook: {url: "%s/sync", timeout: 500ms}}}`, server.URL))
	applyThing(e, "a", "")
	e.WaitFor(env.ConfigMaps, "a", nil)
	e.WaitFor(e.Things(), "a", env.HasSaid(e.Namespace))
	e.WaitForCondition(e.Namespace, "ScriptsReady", "True", "NoScripts")

	slow.Store(1)
	e.Patch(e.Things(), "a", `{"metadata": {"annotations": {"n": "1"}}}`)
	e.WaitForEvent("a", "SyncError", "HookTimedOut: sync hook: ")
	server.CloseClientConnections()
	server.Listener.Close()
	e.WaitForEvent("a", "SyncError", "HookFailed: sync hook: ")
	if e.Get(env.ConfigMaps, "a") == nil {
		t.Error("the child is gone though nobody said so")
	}
}

// A hook that only changes its status is called again, as metacontroller's users rely on, and ends when it says the same.
func TestStatusLeadsToAnotherPass(t *testing.T) {
	e := newEnv(t)
	define(e, "", `export const sync = ({parent}) => ({children: [], status: {count: Math.min((parent.status?.count ?? 0) + 1, 5)}});`, "")
	applyThing(e, "a", "")
	e.WaitFor(e.Things(), "a", hasCount(5))
	e.WaitForQuiet()
}

func TestReloadedScriptServesTheNextPass(t *testing.T) {
	e := newEnv(t)
	script := func(text string) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: hooks, namespace: %s}, data: {"sync.js": %s}}`, e.Namespace,
			env.Quote(text))
	}
	saying := func(text string) string {
		return script(fmt.Sprintf("export const sync = () => ({\n  status: {said: %q},\n  children: [],\n});\n", text))
	}
	e.Apply(saying("one"))
	e.Define(env.Composite, "", e.Parent("things", ""), "hooks: {sync: {script: {path: sync.js}}}",
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: hooks}}]", e.Namespace))
	for n := range 20 {
		applyThing(e, fmt.Sprintf("t%d", n), "")
	}
	said := func(want string) {
		t.Helper()
		for n := range 20 {
			e.WaitFor(e.Things(), fmt.Sprintf("t%d", n), env.HasSaid(want))
		}
	}
	said("one")
	// What serves is kept beside the ConfigMap, for which the host reads what is there.
	e.Eventually(func() error {
		if len(e.List(env.ScriptRevisions, "")) == 0 {
			return errors.New("the first revision of the script is not kept yet")
		}
		return nil
	})
	mark, start := e.Mark(), time.Now()
	e.Apply(saying("two"))
	said("two")
	t.Logf("20 parents follow an edited script after %s", time.Since(start).Round(time.Millisecond))
	e.NoRequests(e.Requests(mark).Reads(), "an edit of a script makes libretto read")

	e.Apply(script("export const sync = () => ({\n  status: {said: \"three\"},\n  children: [,\n});\n"))
	e.WaitForCondition(e.Namespace, "ScriptsReady", "False", "ScriptInvalid", "sync.js:4:1", "goes on serving")
	e.WaitForEvent(e.Namespace, "ScriptInvalid", "sync.js:4:1")
	e.WaitForCondition(e.Namespace, "Ready", "False", "ScriptInvalid")
	applyThing(e, "late", "")
	e.WaitFor(e.Things(), "late", env.HasSaid("two"))
	said("two")

	e.Apply(saying("three"))
	said("three")
	e.WaitForCondition(e.Namespace, "ScriptsReady", "True")
	e.WaitForEvent(e.Namespace, "ScriptReloaded")
}
