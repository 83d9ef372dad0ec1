package hosting

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func toLower(s string) string { return strings.ToLower(s) }

// answering gives what the Thing says in spec.answer, as JSON.
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
		"undeclared": {`{"children": [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}]}`, "v1 Secret is not among the definition's resources"},
		"twice":      {`{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"thing": "twice"}}}, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "labels": {"thing": "twice"}}}]}`, "stands at children[0] already"},
	}
	w := newWorld(t)
	definition := w.definition("", answering, childRule("InPlace"))
	w.WaitForCondition(definition, "Ready", "True")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			good := strings.ReplaceAll(good, "NAME", name)
			w.thing(name, "answer: "+env.Quote(good))
			child := w.WaitFor(env.ConfigMaps, name, nil)
			w.Patch(w.things, name, fmt.Sprintf(`{"spec": {"answer": %s}}`, env.Quote(tc.answer)))
			w.WaitForEvent(name, "SyncError", "HookResponseInvalid: sync hook: ", tc.want)
			if after := w.Get(env.ConfigMaps, name); after == nil || after.GetUID() != child.GetUID() || after.GetDeletionTimestamp() != nil {
				t.Errorf("the child is gone or was replaced: %v", after)
			}
			// It recovers by itself once the answer is right again.
			w.Patch(w.things, name, fmt.Sprintf(`{"spec": {"answer": %s}}`, env.Quote(`{"children": []}`)))
			w.WaitForDeletion(env.ConfigMaps, name, "")
		})
	}
	if w.Libretto().Ended() {
		t.Error("the process has died")
	}
}

func TestThrowingHookLeavesOthersWorking(t *testing.T) {
	w := newWorld(t)
	w.definition("", `
export function sync({parent}) {
  if (parent.spec.bad) {
    throw new Error("no good: " + parent.metadata.name);
  }
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name, labels: {thing: parent.metadata.name}}}]};
}`, childRule("InPlace"))
	w.thing("bad", "bad: true")
	event := w.WaitForEvent("bad", "SyncError", "HookFailed: sync hook: ", "no good: bad", ":4:")
	if event.Type != "Warning" || event.Source.Component != "metacontroller" || event.Namespace != w.Namespace {
		t.Errorf("event %s of %s in %s, want a Warning of metacontroller in %s", event.Type, event.Source.Component, event.Namespace, w.Namespace)
	}
	w.thing("good", "")
	w.WaitFor(env.ConfigMaps, "good", nil)
	w.Patch(w.things, "bad", `{"spec": {"bad": false}}`)
	w.WaitFor(env.ConfigMaps, "bad", nil)
}

func TestEndlessHookIsStopped(t *testing.T) {
	w := newWorld(t)
	name := w.Namespace
	w.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec:
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks:
    sync:
      script: {engine: JavaScript, timeout: 300ms, inline: "export function sync({parent}) { while (parent.spec.endless); return {children: []}; }"}
`, name, w.Group))
	w.thing("endless", "endless: true")
	w.WaitForEvent("endless", "SyncError", "HookTimedOut: sync hook: ")
	before := w.Reconciles(name, "success")
	w.thing("quick", "endless: false")
	w.WaitForReconciles(name, before, 1)
}

func TestWebhook(t *testing.T) {
	w := newWorld(t)
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
	w.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec:
  parentResource: {apiVersion: %s/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps}]
  hooks: {sync: {webhook: {url: "%s/sync", timeout: 500ms}}}
`, w.Namespace, w.Group, server.URL))
	w.thing("a", "")
	w.WaitFor(env.ConfigMaps, "a", nil)
	w.WaitFor(w.things, "a", func(o *unstructured.Unstructured) error {
		if said, _, _ := unstructured.NestedString(o.Object, "status", "said"); said != w.Namespace {
			return fmt.Errorf("said %q, want the definition's name", said)
		}
		return nil
	})
	w.WaitForCondition(w.Namespace, "ScriptsReady", "True", "NoScripts")

	slow.Store(1)
	w.Patch(w.things, "a", `{"metadata": {"annotations": {"n": "1"}}}`)
	w.WaitForEvent("a", "SyncError", "HookTimedOut: sync hook: ")
	server.CloseClientConnections()
	server.Listener.Close()
	w.WaitForEvent("a", "SyncError", "HookFailed: sync hook: ")
	if w.Get(env.ConfigMaps, "a") == nil {
		t.Error("the child is gone though nobody said so")
	}
}

// A hook that only changes its status is called again, as metacontroller's users rely on, and ends when it says the same.
func TestStatusLeadsToAnotherPass(t *testing.T) {
	w := newWorld(t)
	w.definition("", `export const sync = ({parent}) => ({children: [], status: {count: Math.min((parent.status?.count ?? 0) + 1, 5)}});`, "")
	w.thing("a", "")
	w.WaitFor(w.things, "a", hasCount(5))
	w.WaitForQuiet()
}

// keptScripts is the resource in which revisions of scripts are kept.
var keptScripts = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "controllerrevisions"}

func TestReloadedScriptServesTheNextPass(t *testing.T) {
	w := newWorld(t)
	script := func(text string) string {
		return fmt.Sprintf(`{apiVersion: v1, kind: ConfigMap, metadata: {name: hooks, namespace: %s}, data: {"sync.js": %s}}`, w.Namespace, env.Quote(text))
	}
	saying := func(text string) string {
		return script(fmt.Sprintf("export const sync = () => ({\n  status: {said: %q},\n  children: [],\n});\n", text))
	}
	w.Apply(saying("one"))
	w.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s}
spec:
  parentResource: {apiVersion: %[2]s/v1, resource: things}
  scriptSources: [{configMap: {namespace: %[1]s, name: hooks}}]
  hooks: {sync: {script: {path: sync.js}}}
`, w.Namespace, w.Group))
	for n := range 20 {
		w.thing(fmt.Sprintf("t%d", n), "")
	}
	said := func(want string) {
		t.Helper()
		for n := range 20 {
			w.WaitFor(w.things, fmt.Sprintf("t%d", n), func(o *unstructured.Unstructured) error {
				if got, _, _ := unstructured.NestedString(o.Object, "status", "said"); got != want {
					return fmt.Errorf("%s said %q, want %q", o.GetName(), got, want)
				}
				return nil
			})
		}
	}
	said("one")
	// What serves is kept beside the ConfigMap, for which the host reads what is there.
	cluster.Eventually(t, env.Timeout, func() error {
		if len(w.List(keptScripts, "")) == 0 {
			return fmt.Errorf("the first revision of the script is not kept yet")
		}
		return nil
	})
	mark, start := w.Mark(), time.Now()
	w.Apply(saying("two"))
	said("two")
	t.Logf("20 parents follow an edited script after %s", time.Since(start).Round(time.Millisecond))
	if reads := w.Requests(mark).Reads(); len(reads) > 0 {
		t.Errorf("an edit of a script makes libretto read:\n%s", reads)
	}

	w.Apply(script("export const sync = () => ({\n  status: {said: \"three\"},\n  children: [,\n});\n"))
	w.WaitForCondition(w.Namespace, "ScriptsReady", "False", "ScriptInvalid", "sync.js:4:1", "goes on serving")
	w.WaitForEvent(w.Namespace, "ScriptInvalid", "sync.js:4:1")
	w.WaitForCondition(w.Namespace, "Ready", "True")
	w.thing("late", "")
	w.WaitFor(w.things, "late", func(o *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(o.Object, "status", "said"); got != "two" {
			return fmt.Errorf("said %q, want two: the last good script serves", got)
		}
		return nil
	})
	said("two")

	w.Apply(saying("three"))
	said("three")
	w.WaitForCondition(w.Namespace, "ScriptsReady", "True")
	w.WaitForEvent(w.Namespace, "ScriptReloaded")
}
