package kinds

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// mustRest waits until nothing is written any more, and checks that it did not take many writes of ConfigMaps: without
// an end they were more than a hundred in each second.
func (w *scene) mustRest(since cluster.Mark) {
	w.T.Helper()
	const most = 200
	w.WaitForQuiet()
	writes := w.Requests(since).Writes().Of("", "configmaps")
	w.T.Logf("%d writes of ConfigMaps", len(writes))
	if len(writes) > most {
		w.T.Errorf("%d writes of ConfigMaps, want no more than %d", len(writes), most)
	}
}

// Two definitions that select the same parents, and children of the same kind, delete what the other has made.
func TestTwoDefinitionsDeleteEachOthersChildren(t *testing.T) {
	w := newScene(t)
	making := func(name string) string {
		return hooks(fmt.Sprintf(`export const sync = ({parent: {spec}}) => ({children: spec.off ? [] : [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: %q, labels: spec.selector.matchLabels}}]});`, name), "sync")
	}
	left := w.define(composite, "-left", w.parentsAre(composite, "both"), making("left"))
	right := w.define(composite, "-right", w.parentsAre(composite, "both"), making("right"))
	mark := w.Mark()
	w.object("Thing", "p", "set: both", "selector: {matchLabels: {thing: p}}")
	w.WaitForEvent("p", "HotLoop", "ConfigMap "+w.Namespace+"/", " is left alone for 1m0s", "each time CompositeController "+left)
	w.WaitForEvent("p", "HotLoop", "ConfigMap "+w.Namespace+"/", " is left alone for 1m0s", "each time CompositeController "+right)
	w.mustRest(mark)
	// An edit of the parent is not held up.
	w.Patch(w.resource("Thing"), "p", `{"spec": {"off": true}}`)
	w.mustNames(env.ConfigMaps, "thing=p")
}

// A child whose name has the time in it is another one in each sync.
func TestNameWithTheTimeInIt(t *testing.T) {
	w := newScene(t)
	name := w.define(composite, "", w.parentsAre(composite, "timed"), hooks(`export const sync = ({parent: {spec}}) => ({children: [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: spec.name ?? "c-" + Date.now(), labels: spec.selector.matchLabels}}]});`, "sync"))
	mark := w.Mark()
	w.object("Thing", "p", "set: timed", "selector: {matchLabels: {thing: p}}")
	w.WaitForEvent("p", "HotLoop", "no ConfigMap is created or deleted for 1m0s", "such as ConfigMap "+w.Namespace+"/c-", " and then ConfigMap "+w.Namespace+"/c-")
	w.mustRest(mark)
	metrics, err := w.Libretto().Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := metrics.Sum("libretto_hot_loops_total", map[string]string{"definition": composite + " " + name}); got < 1 {
		t.Errorf("%v hot loops are counted", got)
	}
	w.Patch(w.resource("Thing"), "p", `{"spec": {"name": "fixed"}}`)
	w.mustNames(env.ConfigMaps, "thing=p", "fixed")
}

// Many children that come and go as somebody asks for them are no loop.
func TestManyChildrenAreNoLoop(t *testing.T) {
	w := newScene(t)
	name := w.define(composite, "", w.parentsAre(composite, "many"), hooks(`export const sync = ({parent: {spec}}) => ({children: Array.from({length: spec.count}, (_, i) => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "c-" + i, labels: spec.selector.matchLabels}}))});`, "sync"))
	w.object("Thing", "p", "set: many", "count: 0\nselector: {matchLabels: {thing: p}}")
	mark := w.Mark()
	for _, count := range []int{150, 0, 150, 20, 0} {
		w.Patch(w.resource("Thing"), "p", fmt.Sprintf(`{"spec": {"count": %d}}`, count))
		cluster.Eventually(t, 2*env.Timeout, func() error {
			if got := len(w.names(env.ConfigMaps, "thing=p")); got != count {
				return fmt.Errorf("%d children, want %d", got, count)
			}
			return nil
		})
	}
	metrics, err := w.Libretto().Metrics(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := metrics.Sum("libretto_hot_loops_total", map[string]string{"definition": composite + " " + name}); got != 0 {
		t.Errorf("%v hot loops are counted", got)
	}
	if reads := w.Requests(mark).Verbs("get").Of("", "configmaps"); len(reads) > 0 {
		t.Errorf("children are read that are in the cache:\n%s", reads)
	}
}
