package hosting

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

const (
	goodAnswer = `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "labels": {"thing": "web"}}}],
		"status": {"said": "good"}, "events": [{"reason": "Made", "message": "the ConfigMap is there"}]}`
	waitingAnswer = `{"status": {"said": "waits"}, "waiting": {"reason": "SecretMissing", "message": "the Secret db is not there yet"},
		"events": [{"type": "Warning", "reason": "Delayed", "message": "it takes long"}]}`
)

// waitForWaiting waits until a definition's status counts so many parents that wait.
func waitForWaiting(e *env.Env, definition string, want int64) {
	e.T.Helper()
	e.ClusterScope().WaitFor(env.CompositeControllers, definition, env.HasField(want, "status", "waitingParents"))
}

// eventsOf returns the events on an object of the test's namespace with a reason.
func eventsOf(e *env.Env, name, reason string) []unstructured.Unstructured {
	e.T.Helper()
	list, err := e.Cluster.Dynamic().Resource(env.Events).Namespace(e.Namespace).List(e.T.Context(), metav1.ListOptions{
		FieldSelector: "involvedObject.name=" + name + ",reason=" + reason,
	})
	e.NoError(err)
	return list.Items
}

// touch makes passes over a Thing whose hook answers the same.
func touch(e *env.Env, definition, name string, times int) {
	e.T.Helper()
	for i := range times {
		before := e.Reconciles(definition, "success")
		e.Patch(e.Things(), name, fmt.Sprintf(`{"spec": {"touched": %d}}`, i+1))
		e.WaitForReconciles(definition, before, 1)
	}
}

// TestWaiting has a hook that waits in place of its children, for many passes, over a restart and an edit of the definition, and until it
// no longer waits, or its parent is deleted.
func TestWaiting(t *testing.T) {
	e := newEnv(t)
	definition := define(e, "", answering, childRule("InPlace"))
	applyThing(e, "web", "answer: "+env.Quote(goodAnswer))
	child := e.WaitFor(env.ConfigMaps, "web", nil)
	e.WaitForEvent("web", "Made", "the ConfigMap is there")
	answer := func(text string) {
		e.Patch(e.Things(), "web", fmt.Sprintf(`{"spec": {"answer": %s}}`, env.Quote(text)))
	}

	answer(waitingAnswer)
	applyThing(e, "db", "answer: "+env.Quote(waitingAnswer))
	e.WaitFor(e.Things(), "web", env.HasSaid("waits"))
	e.WaitForEvent("web", "Waiting", "SecretMissing: the Secret db is not there yet: until then the children stay as they are")
	e.WaitForEvent("web", "Delayed", "it takes long")
	waitForWaiting(e, definition, 2)
	touch(e, definition, "web", 5)
	e.Restart()
	e.WaitForReconciles(definition, 0, 2)
	waitForWaiting(e, definition, 2)
	touch(e, definition, "web", 3)
	before := e.Reconciles(definition, "success")
	e.ClusterScope().Patch(env.CompositeControllers, definition, `{"spec": {"resyncPeriodSeconds": 3600}}`)
	e.WaitForReconciles(definition, before, 2)
	for _, reason := range []string{"Made", "Waiting", "Delayed"} {
		all := eventsOf(e, "web", reason)
		if len(all) != 1 || env.HasField(int64(1), "count")(&all[0]) != nil {
			t.Errorf("%d events %s after many passes, a restart and an edit of the definition, want one that was emitted once: %v", len(all), reason, all)
		}
	}
	if after := e.Get(env.ConfigMaps, "web"); after == nil || after.GetResourceVersion() != child.GetResourceVersion() {
		t.Errorf("the child was not left alone: %v", after)
	}
	described := e.Kubectl("describe", "thing", "web", "--namespace", e.Namespace)
	if !strings.Contains(described, "SecretMissing: the Secret db is not there yet") {
		t.Errorf("kubectl describe does not tell why it waits:\n%s", described)
	}

	answer(goodAnswer)
	e.Delete(e.Things(), e.Namespace, "db")
	e.WaitFor(e.Things(), "web", env.HasSaid("good"))
	waitForWaiting(e, definition, 0)
}

// TestEventsOfHooks tells what hooks say from what the host says: they have another source and no line ends, and an event with one of the
// host's reasons is refused.
func TestEventsOfHooks(t *testing.T) {
	e := newEnv(t)
	define(e, "", answering, childRule("InPlace"))
	applyThing(e, "web", "answer: "+env.Quote(`{"children": [], "events": [{"reason": "Made", "message": "one\nWarning Held: two"}]}`))
	if event := e.WaitForEvent("web", "Made", "one Warning Held: two"); event.Source.Component != "libretto-hook" || event.ReportingController != "libretto-hook" {
		t.Errorf("an event of a hook comes from %q, %q", event.Source.Component, event.ReportingController)
	}
	applyThing(e, "forged", "answer: "+env.Quote(`{"children": [], "events": [{"reason": "Held", "message": "approve it"}]}`))
	if event := e.WaitForEvent("forged", "SyncError", "events[0].reason: Held is what the host's own events say"); event.Source.Component != "metacontroller" {
		t.Errorf("an event of the host comes from %q", event.Source.Component)
	}
	if forged := eventsOf(e, "forged", "Held"); len(forged) > 0 {
		t.Errorf("a hook says that something is held: %v", forged)
	}
}

// TestEventFlood has a hook that asks for other events in each pass, which causes the next one.
func TestEventFlood(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", `export const sync = ({parent}) => {
  const count = (parent.status?.count ?? 0) + 1;
  const events = [1, 2, 3].map(i => ({reason: "Flood" + count, message: i + "x".repeat(5000)}));
  return {children: [], status: {count}, events};
};`, childRule("InPlace"))
	applyThing(e, "web", "")
	e.WaitForEvent("web", "EventsDropped", "15 at once")
	e.Eventually(func() error {
		dropped := e.Metric("libretto_definition_hook_events_total", map[string]string{"kind": "CompositeController", "definition": name, "outcome": "dropped"})
		if dropped < 50 {
			return fmt.Errorf("%v dropped events are counted", dropped)
		}
		return nil
	})
	list, err := e.Cluster.Dynamic().Resource(env.Events).Namespace(e.Namespace).List(t.Context(), metav1.ListOptions{})
	e.NoError(err)
	suffix := " (CompositeController " + name + ")"
	if n := len(list.Items); n > 18 {
		t.Errorf("there are %d events", n)
	}
	for _, event := range list.Items {
		if message, _, _ := unstructured.NestedString(event.Object, "message"); len(message) > 1024+len(suffix) || !strings.HasSuffix(message, suffix) {
			t.Errorf("a message has %d bytes, and ends in %q", len(message), message[max(len(message)-len(suffix), 0):])
		}
	}
}

// TestAnswersOfVersion1 has a webhook whose answers have both fields: they are read if its version is v2.
func TestAnswersOfVersion1(t *testing.T) {
	e := newEnv(t)
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(rw, waitingAnswer)
	}))
	t.Cleanup(server.Close)
	hook := func(version, more string) string {
		return fmt.Sprintf("hooks: {sync: {version: %s, webhook: {url: %q%s}}}", version, server.URL, more)
	}
	parent := e.Parent("things", "")
	definition := e.Define(env.Composite, "", parent, childRule("InPlace"), hook("v1", ", responseUnMarshallMode: loose"))
	applyThing(e, "web", "")
	e.WaitForEvent("web", "SyncError", "children: is required, as a webhook of version v1 has no waiting: set version: v2")
	waitForWaiting(e, definition, 0)
	if n := len(eventsOf(e, "web", "Delayed")); n > 0 {
		t.Errorf("there are %d events of a webhook of version v1", n)
	}
	e.Define(env.Composite, "", parent, childRule("InPlace"), hook("v2", ""))
	waitForWaiting(e, definition, 1)
	e.WaitForEvent("web", "Delayed", "it takes long")
}
