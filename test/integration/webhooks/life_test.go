package webhooks

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

var decorators = env.CompositeControllers.GroupVersion().WithResource("decoratorcontrollers")

// decorate applies a DecoratorController of the Things that have the label set: <name>, and gives its name.
func (s *stage) decorate(name, target, hook, more string) string {
	s.T.Helper()
	full := s.Namespace + "-" + name
	s.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: %s}
spec:
  resources: [{apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: %s}}%s}]
  attachments: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks: {sync: %s}
%s`, full, s.Group, name, target, hook, env.Indent(more)))
	s.T.Cleanup(func() { s.Delete(decorators, "", full) })
	return full
}

// attaching answers as wanting does, to decorators.
func attaching(value string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if name := askedAbout(w, r, "object"); name != "" {
			fmt.Fprintf(w, `{"status": {"said": %q}, "attachments": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q}, "data": {"value": %[1]q}}]}`, value, name)
		}
	}
}

// TestLifeIsTold shows metacontroller's events on definitions, and that a definition goes on as it is if only its metadata changes.
func TestLifeIsTold(t *testing.T) {
	s := newStage(t)
	server := serve(t, nil)
	hook := fmt.Sprintf("{webhook: {url: %q}}", server.URL)
	decorating := serve(t, nil)
	decorating.says(attaching("yes"))
	for name, resource := range map[string]schema.GroupVersionResource{
		s.definition("composite", hook, ""):                                                  env.CompositeControllers,
		s.decorate("decorator", "", fmt.Sprintf("{webhook: {url: %q}}", decorating.URL), ""): decorators,
	} {
		s.thing(strings.TrimPrefix(name, s.Namespace+"-"), name)
		s.holds(name, "yes")
		for _, reason := range []string{"Starting", "Started"} {
			if event := s.WaitForEvent(name, reason, name); event.Type != "Normal" || event.Source.Component != "metacontroller" || event.Namespace != "default" {
				t.Errorf("event %s is %s of %s in %s, want Normal of metacontroller in default", reason, event.Type, event.Source.Component, event.Namespace)
			}
		}
		s.ClusterScope().Patch(resource, name, `{"metadata": {"annotations": {"touched": "yes"}}}`)
		s.WaitForQuiet()
		if events := s.reasons(name); strings.Count(events, "Started") != 1 || strings.Contains(events, "Stopp") {
			t.Errorf("an annotation of %s makes it start anew: %s", name, events)
		}
		s.Delete(resource, "", name)
		s.WaitForEvent(name, "Stopping", name)
		s.WaitForEvent(name, "Stopped", name)
	}
}

// reasons are those of all events on a definition.
func (s *stage) reasons(name string) string {
	s.T.Helper()
	list, err := s.Cluster.Dynamic().Resource(env.Events).Namespace("default").List(s.T.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + name})
	if err != nil {
		s.T.Fatal(err)
	}
	var all []string
	for _, event := range list.Items {
		all = append(all, fmt.Sprint(event.Object["reason"], "x", event.Object["count"]))
	}
	return strings.Join(all, " ")
}

// TestIgnoreStatusChanges shows that the status of a parent is then nobody's signal, and that everything else still is.
func TestIgnoreStatusChanges(t *testing.T) {
	s := newStage(t)
	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"status": {"said": "hook"}, "children": []}`)
	})
	decorating := serve(t, nil)
	decorating.says(attaching("hook"))
	full := s.definition("composite", fmt.Sprintf("{webhook: {url: %q}}", server.URL), "")
	s.ClusterScope().Patch(env.CompositeControllers, full, `{"spec": {"parentResource": {"ignoreStatusChanges": true}}}`)
	s.WaitForCondition(full, "Ready", "True")
	s.decorate("decorator", ", ignoreStatusChanges: true", fmt.Sprintf("{webhook: {url: %q}}", decorating.URL), "")
	both := func(do func(set string)) {
		t.Helper()
		do("composite")
		do("decorator")
	}
	somebody := func(set string) { s.Patch(s.things, set, `{"status": {"said": "somebody"}}`, "status") }
	both(func(set string) { s.thing(set, set) })
	both(func(set string) { s.says(set, "hook") })
	called := func() int { return server.called() + decorating.called() }
	for _, change := range []string{`{"metadata": {"labels": {"touched": "yes"}}}`, `{"metadata": {"annotations": {"touched": "yes"}}}`, `{"spec": {"touched": true}}`} {
		before := s.calm(called)
		both(somebody)
		s.WaitForQuiet()
		both(func(set string) { s.says(set, "somebody") })
		if again := called() - before; again != 0 {
			t.Errorf("the hooks were called %d times for changes of status", again)
		}
		both(func(set string) { s.Patch(s.things, set, change) })
		both(func(set string) { s.says(set, "hook") })
	}
}

// calm waits until nothing is written and no hook is called any more, and gives how many calls there were: the last
// of them have nothing to write.
func (s *stage) calm(called func() int) int {
	s.T.Helper()
	calls := called()
	cluster.Eventually(s.T, env.Timeout, func() error {
		before := calls
		s.WaitForQuiet()
		if calls = called(); calls != before {
			return fmt.Errorf("%d more calls", calls-before)
		}
		return nil
	})
	return calls
}

// says waits until a Thing's status does.
func (s *stage) says(thing, want string) {
	s.T.Helper()
	s.WaitFor(s.things, thing, func(o *unstructured.Unstructured) error {
		if said, _, _ := unstructured.NestedString(o.Object, "status", "said"); said != want {
			return fmt.Errorf("%s says %q, want %q", thing, said, want)
		}
		return nil
	})
}

// TestDroppedJobTakesItsPods shows that what is dropped goes with all that is its own, where the API server would have left that.
func TestDroppedJobTakesItsPods(t *testing.T) {
	s := newStage(t)
	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"children": [{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "work"}, "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}}}]}`)
	})
	full := s.definition("jobs", fmt.Sprintf("{webhook: {url: %q}}", server.URL), "resyncPeriodSeconds: 1")
	patch := []byte(`{"spec": {"childResources": [{"apiVersion": "batch/v1", "resource": "jobs"}]}}`)
	if _, err := s.Cluster.Dynamic().Resource(env.CompositeControllers).Patch(t.Context(), full, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	s.thing("jobs", "jobs")
	pods := func() int { return len(s.List(env.Pods, "job-name=work")) }
	cluster.Eventually(t, env.Timeout, func() error {
		if pods() == 0 {
			return fmt.Errorf("the Job has no Pod")
		}
		return nil
	})
	server.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"children": []}`) })
	s.WaitForDeletion(schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}, "work", "")
	cluster.Eventually(t, env.Timeout, func() error {
		if n := pods(); n > 0 {
			return fmt.Errorf("%d Pods are left of the Job", n)
		}
		return nil
	})
}
