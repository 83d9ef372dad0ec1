package kinds

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestIgnoredDifferences has somebody else scale a child that is written by each strategy: the number stays, whatever else the hook changes and
// however the child is written, and no write is made for it alone.
func TestIgnoredDifferences(t *testing.T) {
	e := env.NewRunning(t)
	const hook = `export const sync = ({parent: {metadata: {name}, spec}}) => ({children: [{
  apiVersion: "apps/v1", kind: "Deployment", metadata: {name, labels: {app: name}},
  spec: {...(spec.gone ? {} : {replicas: spec.replicas ?? 2}), minReadySeconds: spec.seconds ?? 1, selector: {matchLabels: {app: name}},
    template: {metadata: {labels: {app: name}}, spec: {containers: [{name: "a", image: "a:1"}]}}},
}]})`
	isOf := func(replicas, seconds int64) env.Check {
		return func(d *unstructured.Unstructured) error {
			r, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
			s, _, _ := unstructured.NestedInt64(d.Object, "spec", "minReadySeconds")
			if r != replicas || s != seconds {
				return fmt.Errorf("it has %d replicas and minReadySeconds %d, want %d and %d", r, s, replicas, seconds)
			}
			return nil
		}
	}
	for name, strategies := range map[string][]string{
		"dynamic": {"DynamicApply"}, "serverside": {"ServerSideApply"},
		"to": {"DynamicApply", "ServerSideApply", "DynamicApply"}, "back": {"ServerSideApply", "DynamicApply", "ServerSideApply"},
	} {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			rule := func(strategy, ignored string) string {
				return "childResources: [{apiVersion: apps/v1, resource: deployments, updateStrategy: {method: InPlace}, applyStrategy: " + strategy + ignored + "}]"
			}
			const ignored = ", ignoreDifferences: [spec.replicas]"
			define := func(strategy, ignored string) {
				e.DefineReady(env.Composite, "-"+name, "generateSelector: true", e.Parent("things", name), rule(strategy, ignored), env.Hooks(hook, "sync"))
			}
			writes := func(since cluster.Mark) cluster.Requests {
				return e.Requests(since).Writes().Filter(func(r cluster.Request) bool {
					return r.Resource == "deployments" && r.Name == name && r.UserAgent != cluster.UserAgent
				})
			}
			define(strategies[0], ignored)
			e.ApplyThing(name, "set: "+name, "")
			e.WaitFor(env.Deployments, name, isOf(2, 1)) // The hook's, at first.
			e.WaitForQuiet()

			seconds, replicas := int64(1), int64(2)
			for _, strategy := range strategies {
				define(strategy, ignored)
				for range 2 { // By the hook before and after somebody has scaled it.
					seconds++
					e.Patch(e.Things(), name, fmt.Sprintf(`{"spec": {"seconds": %d, "replicas": %d}}`, seconds, 10+seconds))
					e.WaitFor(env.Deployments, name, isOf(replicas, seconds))
					e.WaitForQuiet()
					mark := e.Mark()
					replicas++
					e.Patch(env.Deployments, name, fmt.Sprintf(`{"spec": {"replicas": %d}}`, replicas))
					e.WaitForQuiet()
					e.NoError(isOf(replicas, seconds)(e.Get(env.Deployments, name)))
					if made := accepted(writes(mark)); len(made) > 1 {
						t.Errorf("%s: %d writes for what is ignored, want 1 at most, by which the host lets go of the field:\n%s", strategy, len(made), made)
					}
				}
			}
			e.Patch(e.Things(), name, `{"spec": {"gone": true, "seconds": 50}}`) // The hook no longer says anything of it.
			e.WaitFor(env.Deployments, name, isOf(replicas, 50))
			e.WaitForQuiet()
			e.NoError(isOf(replicas, 50)(e.Get(env.Deployments, name)))
			e.Patch(e.Things(), name, `{"spec": {"gone": null, "replicas": 1}}`)
			define(strategies[0], "") // It is the hook's again.
			e.WaitFor(env.Deployments, name, isOf(1, 50))
		})
	}
}
