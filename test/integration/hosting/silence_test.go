package hosting

import (
	"errors"
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

// Fields of children that the API server drops are reported once, with what was meant, and cost no request.
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
		if messages := messagesOf(e, "FieldsNotStored"); len(messages) < 2 {
			return fmt.Errorf("events %q, want one for each kind", messages)
		}
		return nil
	})
	e.WaitForQuiet()
	messages := messagesOf(e, "FieldsNotStored")
	if len(messages) != 2 {
		t.Errorf("events %q, want one for each kind", messages)
	}
	all := strings.Join(messages, "\n")
	for _, part := range []string{
		"drops dta of ConfigMap " + e.Namespace + "/", "did you mean data? correct the name in the hook",
		"drops spec.template.spec.containers[1].imagePullPolcy of Deployment " + e.Namespace + "/", "did you mean imagePullPolicy?",
		", which the hook returns: ", "(CompositeController " + e.Namespace,
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
	e.Eventually(func() error { // On any of the three: the first that is written.
		if all := strings.Join(messagesOf(e, "FieldsNotStored"), "\n"); !strings.Contains(all, "drops binaryDta of ConfigMap ") {
			return fmt.Errorf("reported %s", all)
		}
		return nil
	})
}

// Children that OnDelete leaves alone are reported once for each state of the parent, and no more of those are when one is deleted.
func TestOutdatedChildren(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", copies, childRule("OnDelete"))
	applyThing(e, "a", "count: 5\ntext: one")
	e.WaitFor(e.Things(), "a", hasCount(5))
	e.WaitForQuiet()
	if messages := eventsOf(e, "a", "OutdatedChildren"); len(messages) > 0 {
		t.Fatalf("children are as the hook wants them, and there is %v", messages)
	}
	outdated := func(want int64) {
		t.Helper()
		e.ClusterScope().WaitFor(env.CompositeControllers, name, env.HasField(want, "status", "outdatedChildren"))
	}
	outdated(0)
	const left = " (data.text) and 2 more: not as the hook wants them, "
	e.Patch(e.Things(), "a", `{"spec": {"text": "two"}}`)
	e.WaitForEvent("a", "OutdatedChildren", "ConfigMap "+e.Namespace+"/a-0 (data.text), ", left, name, "updateStrategy.method is OnDelete", "set InPlace")
	outdated(5)
	e.WaitForQuiet()
	mark := e.Mark()
	e.Delete(env.ConfigMaps, e.Namespace, "a-0")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("two"))
	e.WaitForQuiet()
	outdated(4)
	e.NoRequests(e.Requests(mark).Writes().Of("", "events"), "what was reported is reported again when a child is replaced")
	// Another state of the parent.
	e.Patch(e.Things(), "a", `{"spec": {"text": "three"}}`)
	e.WaitForEvent("a", "OutdatedChildren", "ConfigMap "+e.Namespace+"/a-0 (data.text), ", " and 2 more")
	e.Eventually(func() error {
		if messages := eventsOf(e, "a", "OutdatedChildren"); len(messages) != 1 || messages[0].Object["count"] != int64(2) {
			return fmt.Errorf("events %v, want one that was seen twice", messages)
		}
		return nil
	})
}

// A sync hook that returns finalized gets an event that it has no effect.
func TestFinalizedFromASyncHook(t *testing.T) {
	e := newEnv(t)
	define(e, "", `export const sync = ({parent}) => ({children: [], status: {count: 1}, finalized: true})`, "")
	for _, parent := range []string{"a", "b"} {
		applyThing(e, parent, "")
		e.WaitFor(e.Things(), parent, hasCount(1))
	}
	e.Eventually(func() error {
		if len(messagesOf(e, "FinalizedIgnored")) == 0 {
			return errors.New("it is not reported")
		}
		return nil
	})
	e.WaitForQuiet()
	messages := messagesOf(e, "FinalizedIgnored")
	want := "the sync hook returns finalized: true, which has no effect there: the definition has no finalize hook"
	if len(messages) != 1 || !strings.Contains(messages[0], want) {
		t.Errorf("events %q, want once %q", messages, want)
	}
}

// A related resource that may not be listed is reported on the parent and on the definition, with the rule that is missing. The parent is
// synced once it is granted.
func TestRelatedResourceForbidden(t *testing.T) {
	e := env.New(t)
	e.Apply(thingCRD(e))
	role := func(more string) {
		e.Apply(fmt.Sprintf(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [metacontroller.k8s.io, apiextensions.k8s.io, %[2]s], resources: ["*"], verbs: ["*"]}
- {apiGroups: [""], resources: [events], verbs: ["*"]}
%[3]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]`, e.Namespace, e.Group, more))
	}
	role("")
	e.Start("--kubeconfig", e.KubeconfigAs(e.Namespace))
	name := e.Define(env.Composite, "", e.Parent("things", ""), env.Hooks(`
export const customize = () => ({relatedResources: [{apiVersion: "apps/v1", resource: "deployments"}]});
export const sync = ({parent, related}) => ({children: [], status: {
  count: Object.values(related["Deployment.apps/v1"]).filter((d) => d.metadata.namespace === parent.metadata.namespace).length,
}});`, "sync", "customize"))
	applyThing(e, "a", "")
	const rule = `{apiGroups: ["apps"], resources: [deployments], verbs: [get, list, watch]}`
	e.WaitForEvent("a", "SyncError", "ResourceUnreadable: related deployments, which the customize hook or nameFrom asks for: ", "forbidden", rule)
	e.WaitForCondition(name, "Ready", "False", "ResourceUnreadable", "deployments", "forbidden", rule)
	role(`- {apiGroups: ["apps"], resources: [deployments], verbs: [get, list, watch]}`)
	e.WaitFor(e.Things(), "a", hasCount(0))
}

// refused returns values that the API server refuses, by the parent's label.
const refused = `
const pod = (container) => ({apiVersion: "v1", kind: "Pod", spec: {containers: [{name: "c", image: "i", ...container}]}});
const children = {
  env: pod({env: [{name: "A", value: "a"}, {name: "PORT", value: 80}]}),
  memory: pod({resources: {requests: {memory: "1 GB"}}}),
  secret: {apiVersion: "v1", kind: "Secret", data: {password: "hunter2!"}},
};
export const sync = ({parent: {metadata: {name, labels}}}) => ({
  children: [{...children[labels.text], metadata: {name, labels: {thing: name}}}],
});`

// Values that the API server refuses are reported with their place and what to write, however they are applied.
func TestRefusedValues(t *testing.T) {
	for _, strategy := range []string{"DynamicApply", "ServerSideApply"} {
		t.Run(strategy, func(t *testing.T) {
			e := newEnv(t)
			define(e, "", refused, "childResources: [{apiVersion: v1, resource: pods}, {apiVersion: v1, resource: secrets}]\napplyStrategy: "+strategy)
			for name, want := range map[string][]string{
				"env":    {"Pod " + e.Namespace + "/env: ", ".value", "string", ": write String(x), in Jsonnet std.toString(x), in CEL string(x)"},
				"memory": {`spec.containers[0].resources.requests.memory is "1 GB": write a number and its unit without a space`},
				"secret": {": data.password is no base64: write it as it is into stringData"},
			} {
				e.ApplyThing(name, "text: "+name, fmt.Sprintf("selector: {matchLabels: {thing: %q}}", name))
				e.WaitForEvent(name, "SyncError", append(want, "ApplyFailed")...)
			}
		})
	}
}

// Server-side apply refuses a field that the API server does not know, which is reported with its path and the way out.
func TestUnknownFieldServerSide(t *testing.T) {
	e := newEnv(t)
	define(e, "", strings.ReplaceAll(misspelt, "status: {count: 1, nope: {a: 1}},", ""), inPlaceKinds+"\napplyStrategy: ServerSideApply")
	e.ApplyThing("a", "text: one", `selector: {matchLabels: {thing: "a"}}`)
	e.WaitForEvent("a", "SyncError", "ApplyFailed", "ConfigMap "+e.Namespace+"/a: ", ".dta: field not declared in schema", "did you mean data?")
	e.WaitForEvent("a", "SyncError", "Deployment "+e.Namespace+"/a: ", "imagePullPolcy: field not declared in schema", "did you mean imagePullPolicy?")
}
