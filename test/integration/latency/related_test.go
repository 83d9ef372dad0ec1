package latency

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// related are hooks that ask for all Gadgets, and say in the status which there are.
const related = `
export const customize = ({controller}) => ({relatedResources: [
  {apiVersion: controller.spec.parentResource.apiVersion, resource: "gadgets", labelSelector: {}},
]});
export const sync = ({related}) => ({children: [], status: {
  said: Object.values(related).flatMap(Object.values).map(gadget => gadget.metadata.name).sort().join(" ") || "none",
}});`

// failures returns the number of failed reconciles of a definition.
func (e *delayedEnv) failures(definition string) float64 { return e.Reconciles(definition, "error") }

// mustFail waits until the next retry of a parent is further away than limit. The parent began to fail at before failures.
func (e *delayedEnv) mustFail(definition string, before float64, limit time.Duration) {
	e.T.Helper()
	next, failures := time.Second, 1.0 // A bad response is retried after a second at first.
	for ; next < limit; next *= 2 {
		failures++
	}
	cluster.Eventually(e.T, 3*time.Minute, func() error {
		if now := e.failures(definition); now < before+failures {
			return fmt.Errorf("%v passes have failed, want %v", now-before, failures)
		}
		return nil
	})
}

// A customize hook asks for a resource whose CustomResourceDefinition comes later, goes, and comes back.
func TestRelatedResourceComesLate(t *testing.T) {
	eachLag(t, func(t *testing.T, lag time.Duration) {
		e := newEnv(t, lag)
		e.define("", related, []string{"sync", "customize"}, "")
		before := e.failures(e.Namespace)
		e.applyThing("asker", "")
		// The definition's event, the list of a cache by a watch, and time for a slow machine.
		limit := 2*lag + 3*time.Second
		said := func(want string) {
			t.Helper()
			start := time.Now()
			cluster.Eventually(t, limit, func() error {
				if got, _, _ := unstructured.NestedString(e.Get(e.Things(), "asker").Object, "status", "said"); got != want {
					return fmt.Errorf("the hook saw %q, want %q", got, want)
				}
				return nil
			})
			t.Logf("%q after %s", want, time.Since(start).Round(time.Millisecond))
		}
		for _, name := range []string{"first", "second"} {
			e.WaitForEvent("asker", "SyncError", "customize hook: relatedResources[0]: ", `no resource "gadgets"`)
			e.mustFail(e.Namespace, before, limit)
			e.Apply(env.CRD(e.Group, "Gadget", "Namespaced"))
			said("none")
			e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Gadget, metadata: {name: %s}}", e.Group, name))
			said(name)
			before = e.failures(e.Namespace)
			e.Delete(env.CRDs, "", "gadgets."+e.Group)
			e.ClusterScope().WaitForDeletion(env.CRDs, "gadgets."+e.Group, "")
		}
	})
}
