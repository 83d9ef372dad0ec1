package webhooks

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/test/env"
)

// canary is in everything that a viewer must not see.
const canary = "canary"

// TestViewersSeeNoSecret shows that who may view definitions, parents and events, and may not read Secrets,
// learns from statuses and events neither which keys a Secret has nor what is in them: not if one is missing,
// not if the server repeats the token, and not if the API server quotes what it refuses.
func TestViewersSeeNoSecret(t *testing.T) {
	e := env.NewRunning(t)
	viewer := e.NewUser("viewer")
	viewer.Bind(e.Namespace, "view")
	viewer.Grant(e.Namespace, e.Group, "things", "get", "list")
	viewer.Grant("", env.CompositeControllers.Group, env.CompositeControllers.Resource, "get", "list")
	if _, err := viewer.In(env.Secrets).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("the viewer may list Secrets: %v", err)
	}

	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "I was sent ", r.Header)
	})
	applySecret(e, "shared", map[string]string{canary + "-key": canary})
	name := define(e, "seen", fmt.Sprintf("{webhook: {url: %q, authorization: {secretRef: {namespace: %s, name: shared, key: token}}}}",
		server.URL+"/?token="+canary, e.Namespace), "")
	e.WaitForCondition(name, "Ready", "False", "CredentialsNotReady", "Secret "+e.Namespace+`/shared has no key "token"`)
	applyThing(e, "seen", "seen")
	applySecret(e, "shared", map[string]string{"token": canary + "-token"})
	e.WaitForEvent("seen", "SyncError", "answered 400", "(hidden)")

	// An object is no value of a Secret: the API server refuses it and quotes it.
	nested := fmt.Sprintf(`export const sync = ({parent}) => ({children: [
  {apiVersion: "v1", kind: "Secret", metadata: {name: parent.metadata.name}, data: {login: {password: "%s-value"}}}]});`, canary)
	e.Define(env.Composite, "-nested", "generateSelector: true", e.Parent("things", "nested"), "applyStrategy: ServerSideApply",
		"childResources: [{apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}}]", env.Hooks(nested, "sync"))
	applyThing(e, "nested", "nested")
	e.WaitForEvent("nested", "SyncError", "(hidden)")

	definitions, err := viewer.Dynamic().Resource(env.CompositeControllers).List(t.Context(), metav1.ListOptions{})
	e.NoError(err)
	for _, definition := range definitions.Items {
		if strings.HasPrefix(definition.GetName(), e.Namespace+"-") {
			mustNotHave(e, "the status of "+definition.GetName(), definition.Object["status"])
		}
	}
	things, err := viewer.In(e.Things()).List(t.Context(), metav1.ListOptions{})
	e.NoError(err)
	events, err := viewer.In(env.Events).List(t.Context(), metav1.ListOptions{})
	e.NoError(err)
	if len(things.Items) != 2 || len(events.Items) < 2 {
		t.Errorf("the viewer sees %d parents and %d events", len(things.Items), len(events.Items))
	}
	mustNotHave(e, "a parent", things.Items)
	mustNotHave(e, "an event", events.Items)
}

// mustNotHave fails if the canary is in v.
func mustNotHave(e *env.Env, what string, v any) {
	e.T.Helper()
	text, err := json.Marshal(v)
	e.NoError(err)
	if at := strings.Index(string(text), canary); at >= 0 {
		e.T.Errorf("%s tells it: ...%s...", what, text[max(0, at-300):min(len(text), at+100)])
	}
}
