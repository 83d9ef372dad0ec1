package hosting

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// messagesOf returns the messages of the events with a reason in the namespace.
func messagesOf(e *env.Env, reason string) (messages []string) {
	e.T.Helper()
	list, err := e.Cluster.Dynamic().Resource(env.Events).Namespace(e.Namespace).List(e.T.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
	e.NoError(err)
	for _, item := range list.Items {
		message, _, _ := unstructured.NestedString(item.Object, "message")
		messages = append(messages, message)
	}
	return messages
}

// misspelt returns children with fields that the API server does not know.
const misspelt = `
export const sync = ({parent: {metadata: {name, labels}}}) => ({
  children: [
    {apiVersion: "v1", kind: "ConfigMap", metadata: {name, labels: {thing: name}}, dta: {text: "lost"}, data: {text: labels.text ?? "none"}},
    {apiVersion: "apps/v1", kind: "Deployment", metadata: {name, labels: {thing: name}}, spec: {
      replicas: 0, selector: {matchLabels: {app: name}},
      template: {metadata: {labels: {app: name}}, spec: {containers: [{name: "c", image: "i"}, {name: "d", image: "i", imagePullPolcy: "Never"}]}},
    }},
  ],
  status: {count: 1, nope: {a: 1}},
});`

const inPlaceKinds = "childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}, " +
	"{apiVersion: apps/v1, resource: deployments, updateStrategy: {method: InPlace}}]"

// Fields of children that the API server drops are told once, with what was meant, and cost no request.
func TestDroppedFieldsOfChildren(t *testing.T) {
	e := newEnv(t)
	define(e, "", misspelt, inPlaceKinds)
	mark := e.Mark()
	for _, name := range []string{"a", "b", "c"} {
		e.ApplyThing(name, "text: one", fmt.Sprintf("selector: {matchLabels: {thing: %q}}", name))
		e.WaitFor(env.ConfigMaps, name, env.HasText("one"))
		e.WaitFor(e.Things(), name, hasCount(1))
	}
	e.Eventually(func() error {
		if told := messagesOf(e, "FieldsNotStored"); len(told) < 2 {
			return fmt.Errorf("told %q, want one event for each kind", told)
		}
		return nil
	})
	e.WaitForQuiet()
	told := messagesOf(e, "FieldsNotStored")
	if len(told) != 2 {
		t.Errorf("told %q, want one event for each kind", told)
	}
	all := strings.Join(told, "\n")
	for _, part := range []string{
		"drops dta of ConfigMap " + e.Namespace + "/", "did you mean data? correct the name in the hook",
		"drops spec.template.spec.containers[1].imagePullPolcy of Deployment " + e.Namespace + "/", "did you mean imagePullPolicy?",
		"the hook of CompositeController " + e.Namespace,
	} {
		if !strings.Contains(all, part) {
			t.Errorf("no event has %q:\n%s", part, all)
		}
	}
	e.WaitForEvent("a", "StatusNotStored", "status.nope of things")
	// A creation, and an update that finds that nothing of what is missing can be added.
	if writes := e.Requests(mark).Writes().Of("", "configmaps").In(e.Namespace); len(writes) > 6 {
		t.Errorf("%d writes of three ConfigMaps, want two of each:\n%s", len(writes), writes)
	}

	// An edit of the script begins anew.
	define(e, "", strings.ReplaceAll(misspelt, "dta:", "binaryDta:"), inPlaceKinds)
	e.WaitForEvent("a", "FieldsNotStored", "binaryDta", "did you mean binaryData?")
}
