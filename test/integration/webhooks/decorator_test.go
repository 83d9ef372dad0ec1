package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestDecoratorCredentials shows that decorators' hooks are called with credentials as composites' are, by both ways to give them.
func TestDecoratorCredentials(t *testing.T) {
	e := env.NewRunning(t)
	applySecret(e, "token", map[string]string{"token": "right", "other": "wrong"})
	applySecret(e, "login", map[string]string{"username": "me", "password": "open", "other": "shut"})
	token := func(key string) string {
		return fmt.Sprintf("authorization: {secretRef: {namespace: %s, name: token, key: %s}}", e.Namespace, key)
	}
	login := func(key string) string {
		return fmt.Sprintf("basicAuth: {secretRef: {namespace: %s, name: login}, passwordKey: %s}", e.Namespace, key)
	}
	byToken := func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer right" }
	byLogin := func(r *http.Request) bool {
		name, password, ok := r.BasicAuth()
		return ok && name == "me" && password == "open"
	}
	cases := map[string]struct {
		given      string
		authorized func(*http.Request) bool
		host       bool // given by host
		refused    bool
	}{
		"token":            {given: token("token"), authorized: byToken},
		"wrong-token":      {given: token("other"), authorized: byToken, refused: true},
		"password":         {given: login("password"), authorized: byLogin},
		"wrong-password":   {given: login("other"), authorized: byLogin, refused: true},
		"host-token":       {given: token("token"), authorized: byToken, host: true},
		"host-wrong-token": {given: token("other"), authorized: byToken, host: true, refused: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e.WithT(t)
			server := serve(t, plain)
			server.says(func(w http.ResponseWriter, r *http.Request) {
				if !c.authorized(r) {
					http.Error(w, "who are you?", http.StatusUnauthorized)
					return
				}
				attaching("yes")(w, r)
			})
			given := fmt.Sprintf("caBundle: {inline: %s}, %s", env.Quote(server.authority()), c.given)
			hook, more := fmt.Sprintf("{webhook: {url: %q, %s}}", server.URL, given), ""
			if c.host {
				hook = webhook(server.URL)
				more = fmt.Sprintf("endpointConfigs: [{host: %q, %s}]", strings.TrimPrefix(server.URL, "https://"), given)
			}
			decorate(e, name, "", hook, more)
			applyThing(e, name, name)
			if !c.refused {
				waitForValue(e, name, "yes")
				return
			}
			e.WaitForEvent(name, "SyncError", "HookFailed: sync hook: "+server.URL, "answered 401 Unauthorized: who are you?")
			if e.Get(env.ConfigMaps, name) != nil {
				t.Error("there is an attachment, though nobody answered")
			}
		})
	}
}

// TestRollingDecorators shows that a decorator takes the rolling methods, and updates all at once.
func TestRollingDecorators(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	says := func(value string) {
		server.says(func(w http.ResponseWriter, _ *http.Request) {
			one := `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q}, "data": {"value": %q}}`
			fmt.Fprintf(w, `{"attachments": [`+one+`, `+one+`]}`, "one", value, "two", value)
		})
	}
	for method, replaces := range map[string]bool{"RollingRecreate": true, "RollingInPlace": false} {
		t.Run(method, func(t *testing.T) {
			e := e.WithT(t)
			says("old")
			e.Define(env.Decorator, "-rolling", e.Targets("things", ""), "resyncPeriodSeconds: 1", "hooks: {sync: "+webhook(server.URL)+"}",
				"attachments: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: "+method+"}}]")
			applyThing(e, "rolling", "rolling")
			waitForValue(e, "one", "old")
			waitForValue(e, "two", "old")
			before := e.Get(env.ConfigMaps, "one")
			says("new")
			waitForValue(e, "one", "new")
			waitForValue(e, "two", "new")
			if replaced := e.Get(env.ConfigMaps, "one").GetUID() != before.GetUID(); replaced != replaces {
				t.Errorf("the attachment was replaced: %v, want %v", replaced, replaces)
			}
			e.Delete(e.Things(), e.Namespace, "rolling")
			e.WaitForDeletion(env.ConfigMaps, "one", "")
			e.WaitForDeletion(env.ConfigMaps, "two", "")
		})
	}
}
