package hosting

import (
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// maxSeries is how many series a definition that works may have on /metrics.
const maxSeries = 60

// TestSeriesOfADefinition counts the series of a definition with all hooks, which creates, updates and deletes children, asks for events,
// has failed, and of which an edit was previewed.
func TestSeriesOfADefinition(t *testing.T) {
	e := newEnv(t)
	script := `
export const customize = () => ({relatedResources: [{apiVersion: "v1", resource: "configmaps", names: ["none"]}]});
export const sync = ({parent}) => {
  if (parent.spec.text === "bad") throw new Error("bad");
  const children = Array.from({length: parent.spec.count}, (_, i) => ({
    apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-" + i, labels: {thing: parent.metadata.name}},
    data: {text: parent.spec.text},
  }));
  return {children, status: {count: parent.spec.count}, events: [{reason: "Counted", message: "now " + parent.spec.count}]};
};
export const finalize = () => ({children: [], finalized: true});`
	name := e.DefineReady(env.Composite, "", e.Parent("things", ""), env.UpdatedChildren, env.Hooks(script, "sync", "customize", "finalize"))
	for _, spec := range []string{"count: 2\ntext: one", "count: 1\ntext: two", "count: 1\ntext: bad", "count: 1\ntext: three"} {
		applyThing(e, "a", spec)
		if spec == "count: 1\ntext: bad" {
			e.WaitForMetric(1, "libretto_definition_reconcile_total", map[string]string{"definition": name, "outcome": "error"})
			continue
		}
		e.WaitFor(env.ConfigMaps, "a-0", env.HasText(spec[len("count: 1\ntext: "):]))
	}
	e.Delete(e.Things(), e.Namespace, "a")
	e.WaitForDeletion(e.Things(), "a", "")
	labels := map[string]string{"kind": env.Composite, "definition": name}
	e.WaitForMetric(1, "libretto_definition_child_writes_total", map[string]string{"definition": name, "action": "Delete"})
	series, all := e.Metrics().Series(labels), 0
	for _, n := range series {
		all += n
	}
	t.Logf("%d series: %v", all, series)
	if all > maxSeries {
		t.Errorf("a definition has %d series, want %d at most: %v", all, maxSeries, series)
	}
	if series["libretto_definition_hook_duration_seconds"] < 3*2 {
		t.Errorf("not all hooks were called: %v", series)
	}
}
