package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestStrictness shows what of an answer is refused in each version of a hook, and what if the definition says how to read it.
func TestStrictness(t *testing.T) {
	e := env.NewRunning(t)
	const (
		unknown = `{"children": [CHILD], "kids": 1}`
		doubled = `{"children": [], "children": [CHILD]}`
		absent  = `{}`
		null    = `null`
		inside  = `{"children": [CHILDX]}`
	)
	cases := map[string]struct {
		version, mode, answer string
		wantEvent             string // "" means that it is taken
	}{
		"v1-unknown":        {version: "v1", answer: unknown},
		"v1-doubled":        {version: "v1", answer: doubled},
		"v1-absent":         {version: "v1", answer: absent, wantEvent: "children: is required"},
		"v1-null":           {version: "v1", answer: null, wantEvent: "answered null"},
		"v1-strict-unknown": {version: "v1", mode: "strict", answer: unknown, wantEvent: "kids: is no field"},
		"v1-strict-doubled": {version: "v1", mode: "strict", answer: doubled, wantEvent: `duplicate field "children"`},
		"v2-unknown":        {version: "v2", answer: unknown, wantEvent: "kids: is no field"},
		"v2-doubled":        {version: "v2", answer: doubled, wantEvent: `duplicate field "children"`},
		"v2-absent":         {version: "v2", answer: absent, wantEvent: "children: is required"},
		"v2-inside":         {version: "v2", answer: inside},
		"v2-loose-unknown":  {version: "v2", mode: "loose", answer: unknown},
		"v2-loose-doubled":  {version: "v2", mode: "loose", answer: doubled},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e.WithT(t)
			child := fmt.Sprintf(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q}, "data": {"value": "yes"}}`, name)
			// A child is read by the API server, not by the strictness of the hook.
			twice := strings.TrimSuffix(child, "}") + `, "data": {"value": "yes"}}`
			server := serve(t, nil)
			server.says(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprint(w, strings.NewReplacer("CHILDX", twice, "CHILD]", child+"]").Replace(c.answer))
			})
			mode := ""
			if c.mode != "" {
				mode = ", responseUnMarshallMode: " + c.mode
			}
			define(e, name, fmt.Sprintf("{version: %s, webhook: {url: %q%s}}", c.version, server.URL, mode), "")
			applyThing(e, name, name)
			if c.wantEvent == "" {
				waitForValue(e, name, "yes")
				return
			}
			e.WaitForEvent(name, "SyncError", "HookResponseInvalid: sync hook: ", c.wantEvent)
		})
	}
}

// TestBusyCustomize shows that a server of customize hooks may ask for time too.
func TestBusyCustomize(t *testing.T) {
	e := env.NewRunning(t)
	server, customize := serve(t, nil), serve(t, nil)
	var calls, refusedAt, askedAt atomic.Int64
	customize.says(func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			refusedAt.Store(time.Now().UnixNano())
			w.Header().Set("Retry-After", "2")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		askedAt.CompareAndSwap(0, time.Now().UnixNano())
		fmt.Fprint(w, `{"relatedResources": []}`)
	})
	define(e, "busy", fmt.Sprintf("{webhook: {url: %q}}, customize: {webhook: {url: %q}}", server.URL, customize.URL), "")
	applyThing(e, "busy", "busy")
	waitForValue(e, "busy", "yes")
	if pause := time.Duration(askedAt.Load() - refusedAt.Load()); pause < 1900*time.Millisecond {
		t.Errorf("customize was called again after %s, want at least 1.9s", pause)
	}
	mustNotTellOf(e, customize.URL)
}

// TestSelectors shows what is reported of parents without a selector, and of children that theirs does not match.
func TestSelectors(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, r *http.Request) {
		if name := askedAbout(w, r, "parent"); name != "" {
			fmt.Fprintf(w, `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q, "labels": {"app": "web"}}, "data": {"value": "yes"}}]}`, name)
		}
	})
	full := define(e, "selectors", webhook(server.URL), "")
	e.PatchDefinition(env.Composite, full, `{"spec": {"generateSelector": false}}`)
	e.WaitForCondition(full, "Ready", "True")
	for name, c := range map[string]struct{ spec, wantEvent string }{
		"missing": {"{}", "spec.selector"},
		"empty":   {"{selector: {}}", "spec.selector"},
		"other":   {"{selector: {matchLabels: {app: db}}}", "ConfigMap"},
		"wrong":   {"{selector: {matchExpressions: [{key: app, operator: Like}]}}", "spec.selector"},
		"labels":  {"{selector: {matchLabels: {app: web}}}", ""},
		"set":     {"{selector: {matchExpressions: [{key: app, operator: In, values: [web, db]}]}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: %s, labels: {set: selectors}}, spec: %s}", e.Group, name, c.spec))
			if c.wantEvent == "" {
				waitForValue(e, name, "yes")
				// The next case's parent would find it as well.
				e.Delete(e.Things(), e.Namespace, name)
				e.WaitForDeletion(env.ConfigMaps, name, "")
				return
			}
			event := e.WaitForEvent(name, "SyncError", c.wantEvent)
			t.Log(event.Message)
			if e.Get(env.ConfigMaps, name) != nil {
				t.Error("there is a child all the same")
			}
			e.Delete(e.Things(), e.Namespace, name)
		})
	}
}
