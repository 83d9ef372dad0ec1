package webhooks

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/env"
)

// decorate applies a DecoratorController of the Things that have the label set: <name>, and returns its name.
func decorate(e *env.Env, name, target, hook, more string) string {
	e.T.Helper()
	rule := fmt.Sprintf("{apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: %s}}%s}", e.Group, name, target)
	return e.Define(env.Decorator, "-"+name, "resources: ["+rule+"]", "attachments: ["+env.UpdatedConfigMaps+"]", "hooks: {sync: "+hook+"}",
		more)
}

// attaching answers as wanting does, to env.DecoratorControllers.
func attaching(value string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if name := askedAbout(w, r, "object"); name != "" {
			fmt.Fprintf(w, `{"status": {"said": %q}, "attachments": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q}, "data": {"value": %[1]q}}]}`, value, name)
		}
	}
}

// TestLifeIsTold shows metacontroller's events on definitions, and that a definition goes on as it is if only its metadata changes.
func TestLifeIsTold(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	hook := webhook(server.URL)
	decorating := serve(t, nil)
	decorating.says(attaching("yes"))
	for name, resource := range map[string]schema.GroupVersionResource{
		define(e, "composite", hook, ""):                          env.CompositeControllers,
		decorate(e, "decorator", "", webhook(decorating.URL), ""): env.DecoratorControllers,
	} {
		applyThing(e, strings.TrimPrefix(name, e.Namespace+"-"), name)
		waitForValue(e, name, "yes")
		for _, reason := range []string{"Starting", "Started"} {
			if event := e.WaitForEvent(name, reason, name); event.Type != "Normal" || event.Source.Component != "metacontroller" ||
				event.Namespace != "default" {
				t.Errorf("event %s is %s of %s in %s, want Normal of metacontroller in default", reason, event.Type, event.Source.Component,
					event.Namespace)
			}
		}
		e.ClusterScope().Patch(resource, name, `{"metadata": {"annotations": {"touched": "yes"}}}`)
		e.WaitForQuiet()
		if events := reasons(e, name); strings.Count(events, "Started") != 1 || strings.Contains(events, "Stopp") {
			t.Errorf("an annotation of %s makes it start anew: %s", name, events)
		}
		e.Delete(resource, "", name)
		e.WaitForEvent(name, "Stopping", name)
		e.WaitForEvent(name, "Stopped", name)
	}
}

// reasons are those of all events on a definition.
func reasons(e *env.Env, name string) string {
	e.T.Helper()
	list, err := e.Cluster.Dynamic().Resource(env.Events).Namespace("default").List(e.T.Context(),
		metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	e.NoError(err)
	var all []string
	for _, event := range list.Items {
		all = append(all, fmt.Sprint(event.Object["reason"], "x", event.Object["count"]))
	}
	return strings.Join(all, " ")
}

// TestIgnoreStatusChanges shows that a change of a parent's status then causes no call, and that any other change does.
func TestIgnoreStatusChanges(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status": {"said": "hook"}, "children": []}`)
	})
	decorating := serve(t, nil)
	decorating.says(attaching("hook"))
	full := define(e, "composite", webhook(server.URL), "")
	e.ClusterScope().Patch(env.CompositeControllers, full, `{"spec": {"parentResource": {"ignoreStatusChanges": true}}}`)
	e.WaitForCondition(full, "Ready", "True")
	decorate(e, "decorator", ", ignoreStatusChanges: true", webhook(decorating.URL), "")
	both := func(do func(set string)) {
		t.Helper()
		do("composite")
		do("decorator")
	}
	somebody := func(set string) { e.Patch(e.Things(), set, `{"status": {"said": "somebody"}}`, "status") }
	both(func(set string) { applyThing(e, set, set) })
	both(func(set string) { waitForSaid(e, set, "hook") })
	called := func() int { return server.called() + decorating.called() }
	for _, change := range []string{`{"metadata": {"labels": {"touched": "yes"}}}`, `{"metadata": {"annotations": {"touched": "yes"}}}`,
		`{"spec": {"touched": true}}`} {
		before := calm(e, called)
		both(somebody)
		e.WaitForQuiet()
		both(func(set string) { waitForSaid(e, set, "somebody") })
		if again := called() - before; again != 0 {
			t.Errorf("the hooks were called %d times for changes of status", again)
		}
		both(func(set string) { e.Patch(e.Things(), set, change) })
		both(func(set string) { waitForSaid(e, set, "hook") })
	}
}

// calm waits until nothing is written and no hook is called any more, and gives how many calls there were: the last
// of them have nothing to write.
func calm(e *env.Env, called func() int) int {
	e.T.Helper()
	calls := called()
	e.Eventually(func() error {
		before := calls
		e.WaitForQuiet()
		if calls = called(); calls != before {
			return fmt.Errorf("%d more calls", calls-before)
		}
		return nil
	})
	return calls
}

// waitForSaid waits until a Thing's status.said is want.
func waitForSaid(e *env.Env, thing, want string) {
	e.T.Helper()
	e.WaitFor(e.Things(), thing, env.HasSaid(want))
}

// TestDroppedJobTakesItsPods shows that what is dropped goes with all that is its own, where the API server would have left that.
func TestDroppedJobTakesItsPods(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"children": [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}}}]}`)
	})
	full := define(e, "jobs", webhook(server.URL), "resyncPeriodSeconds: 1")
	e.PatchDefinition(env.Composite, full, `{"spec": {"childResources": [{"apiVersion": "batch/v1", "resource": "jobs"}]}}`)
	applyThing(e, "jobs", "jobs")
	e.Eventually(func() error {
		if len(e.List(env.Pods, "job-name=work")) == 0 {
			return errors.New("the Job has no Pod")
		}
		return nil
	})
	server.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"children": []}`) })
	e.WaitForDeletion(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "work", "")
	e.WaitForCount(env.Pods, "job-name=work", 0)
}
