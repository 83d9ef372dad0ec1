package hosting

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/delayproxy"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestNextLeaderUndoesNothing has a process lead that does not see an edit of the definition, as its watch was broken off before, but the
// children that the edit has made: it does not make them as they were.
func TestNextLeaderUndoesNothing(t *testing.T) {
	e := env.NewWithThings(t)
	define := func(value string) {
		e.Define(env.Composite, "", e.Parent("things", ""), "generateSelector: true", env.UpdatedChildren, env.Hooks(fmt.Sprintf(
			`export const sync = ({parent}) => ({children: [
				{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: %q}}]})`, value), "sync"))
	}
	waitFor := func(value string) { e.WaitFor(env.ConfigMaps, "a", env.HasField(value, "data", "value")) }
	define("one")
	e.ApplyThing("a", "", "")
	leader := newCandidate(e, "first")
	waitFor("one")
	mark := e.Mark()
	proxy, err := delayproxy.Start(e.Cluster.Config, t.TempDir())
	e.NoError(err)
	defer func() { e.NoError(proxy.Stop()) }()
	newCandidate(e, "second", "--kubeconfig", proxy.Kubeconfig)
	e.Eventually(func() error { // Its caches are filled.
		watches := e.Requests(mark).Of("", "configmaps").Filter(func(r cluster.Request) bool { return r.Verb == "watch" && r.User != leader.user.Name })
		if len(watches) == 0 {
			return errors.New("the second one does not watch children")
		}
		return nil
	})
	proxy.Set(delayproxy.Rule{Verbs: []string{"watch"}, Resources: []string{"compositecontrollers"}, Request: 5 * time.Second})
	proxy.CutWatches()
	define("two")
	waitFor("two")
	versions, err := e.In(env.ConfigMaps).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=a"})
	e.NoError(err)
	defer versions.Stop()
	e.NoError(leader.Stop())
	define("three")
	waitFor("three")
	expectNoReturn(t, versions)
}

// TestNextLeaderTakesEditOver kills a leader that has served an edit of the scripts and whose status does not say so yet: the next one does
// not begin with the scripts before.
func TestNextLeaderTakesEditOver(t *testing.T) {
	e := env.NewWithThings(t)
	edit := func(value string) {
		e.ApplyObject(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "hooks"},
			"data": map[string]any{"sync.js": fmt.Sprintf(`export const sync = ({parent}) => ({children: [
				{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: %q}}]})`, value)},
		}})
	}
	waitFor := func(value string) { e.WaitFor(env.ConfigMaps, "a", env.HasField(value, "data", "value")) }
	edit("one")
	e.Define(env.Composite, "", e.Parent("things", ""), "generateSelector: true", env.UpdatedChildren,
		"scriptSources: [{configMap: {namespace: "+e.Namespace+", name: hooks}}]", "hooks: {sync: {version: v2, script: {path: sync.js}}}")
	e.ApplyThing("a", "", "")
	proxy, err := delayproxy.Start(e.Cluster.Config, t.TempDir())
	e.NoError(err)
	defer func() { e.NoError(proxy.Stop()) }()
	leader := newCandidate(e, "first", "--kubeconfig", proxy.Kubeconfig)
	waitFor("one")
	e.WaitUntilReady(env.Composite, e.Namespace)
	second := newCandidate(e, "second")
	proxy.SetFaults(1, delayproxy.Fault{Verbs: []string{"update", "patch"}, Resources: []string{"compositecontrollers/status"}, Unreachable: true})
	edit("two")
	waitFor("two")
	versions, err := e.In(env.ConfigMaps).Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=a"})
	e.NoError(err)
	defer versions.Stop()
	mark := e.Mark()
	e.NoError(leader.Kill())
	second.waitForWrites(e, mark)
	edit("three")
	cluster.Eventually(t, leaseTimeout, func() error {
		value, _, _ := unstructured.NestedString(e.Get(env.ConfigMaps, "a").Object, "data", "value")
		if value != "three" {
			return fmt.Errorf("the child has the value %s", value)
		}
		return nil
	})
	expectNoReturn(t, versions)
}

// expectNoReturn fails the test if a child gets the value "one" before it gets "three".
func expectNoReturn(t *testing.T, versions watch.Interface) {
	t.Helper()
	for event := range versions.ResultChan() {
		switch value, _, _ := unstructured.NestedString(event.Object.(*unstructured.Unstructured).Object, "data", "value"); value {
		case "one":
			t.Error("the child was made as it was before the edit")
		case "three":
			return
		}
	}
	t.Error("the watch has ended early")
}
