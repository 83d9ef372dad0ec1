package kinds

import (
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// elsewhere makes a ConfigMap in each of the namespaces that the spec names.
const elsewhere = `
export const sync = ({parent: {spec, metadata}}) => ({children: spec.namespaces.map(namespace => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name, namespace}, data: {text: namespace}}))});`

// newSites returns an Env with Sites, which are in no namespace and have ConfigMaps in others.
func newSites(t *testing.T, strategy string) *env.Env {
	e := env.NewRunning(t)
	e.Apply(env.CRD(e.Group, "Site", "Cluster"))
	e.DefineReady(env.Composite, "", "generateSelector: true", "applyStrategy: "+strategy, env.Hooks(elsewhere, "sync"),
		e.Parent("sites", ""),
		env.UpdatedChildren)
	return e
}

// site applies a Site, named after the test's namespace, with children in namespaces.
func site(e *env.Env, namespaces string) string {
	e.T.Helper()
	e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Site, metadata: {name: %s}, spec: {namespaces: [%s]}}", e.Group, e.Namespace, namespaces))
	return e.Namespace
}

// createNamespace creates a namespace that is deleted at the end of the test.
func createNamespace(e *env.Env, name string) {
	e.T.Helper()
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
	e.T.Cleanup(func() { e.Delete(env.Namespaces, "", name) })
}

// failures returns the number of failed reconciles of the CompositeController.
func failures(e *env.Env) float64 { return e.Reconciles(e.Namespace, "error") }

// waitForFailures waits until so many reconciles have failed.
func waitForFailures(e *env.Env, want float64) {
	e.T.Helper()
	cluster.Eventually(e.T, 2*env.Timeout, func() error {
		if got := failures(e); got < want {
			return fmt.Errorf("%v reconciles have failed, want %v", got, want)
		}
		return nil
	})
}

func TestNamespaceThatComes(t *testing.T) {
	for _, strategy := range []string{"DynamicApply", "ServerSideApply"} {
		t.Run(strategy, func(t *testing.T) {
			e := newSites(t, strategy)
			e.WaitForWatches("", "namespaces", 0)
			late := e.Namespace + "-late"
			name := site(e, e.Namespace+", "+late)
			e.WaitFor(env.ConfigMaps, name, env.HasText(e.Namespace)) // The one is not held up by the other.
			e.WaitForEvent(name, "SyncError", "ApplyFailed", "ConfigMap "+late+"/"+name, "create it")
			e.WaitForWatches("", "namespaces", 1)
			// From 1 s on each failure doubles the time until the next try.
			const backoff = 6 * time.Second
			waitForFailures(e, 3)
			mark := e.Mark()
			waitForFailures(e, 5)
			e.NoRequests(e.Requests(mark).Writes().Of("", "configmaps"), "it is tried though the namespace is known not to be there")
			start := time.Now()
			createNamespace(e, late)
			e.InNamespace(late).WaitFor(env.ConfigMaps, name, env.HasText(late))
			if took := time.Since(start); took > backoff {
				t.Errorf("the namespace was there, and the child only %s later", took)
			}
			e.WaitForWatches("", "namespaces", 0)
		})
	}
}

func TestNamespaceOnItsWayOut(t *testing.T) {
	e := newSites(t, "DynamicApply")
	late := e.Namespace + "-late"
	there := e.InNamespace(late)
	createNamespace(e, late)
	there.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}")
	there.Delete(env.Namespaces, "", late)
	name := site(e, late)
	e.WaitForEvent(name, "SyncError", "ApplyFailed", "being terminated", "create it")
	there.Patch(env.ConfigMaps, "held", `{"metadata": {"finalizers": null}}`)
	e.ClusterScope().WaitForDeletion(env.Namespaces, late, "")
	createNamespace(e, late)
	there.WaitFor(env.ConfigMaps, name, env.HasText(late))
}

// A parent that is held back while its namespace goes sees its children go one by one, and can have no other.
func TestOwnNamespaceOnItsWayOut(t *testing.T) {
	const count = 30
	e := env.NewRunning(t)
	e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", ""),
		env.UpdatedChildren, env.Hooks(fmt.Sprintf(`
export const sync = ({parent: {metadata}}) => ({children: Array.from({length: %d}, (_, n) => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name + n, labels: {of: "parent"}}}))});`, count), "sync"))
	late := e.Namespace + "-late"
	there := e.InNamespace(late)
	createNamespace(e, late)
	there.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: a, finalizers: [example.com/hold]}, spec: {}}", e.Group))
	there.WaitForCount(env.ConfigMaps, "of=parent", count)
	e.WaitForQuiet()
	mark := e.Mark()
	// The children are taken away as they are when a namespace goes, but with the parent not deleted yet.
	there.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}")
	there.Delete(env.Namespaces, "", late)
	there.WaitForCount(env.ConfigMaps, "of=parent", 0)
	e.WaitForQuiet()
	if tries := e.Requests(mark).Verbs("create").Of("", "configmaps").In(late); len(tries) > 3*count {
		t.Errorf("%d creations were tried in a namespace that is being deleted, of %d children", len(tries), count)
	} else {
		t.Logf("%d creations were tried", len(tries))
	}
	there.Patch(env.ConfigMaps, "held", `{"metadata": {"finalizers": null}}`)
	there.Patch(e.Things(), "a", `{"metadata": {"finalizers": null}}`)
	e.ClusterScope().WaitForDeletion(env.Namespaces, late, "")
	e.WaitForWatches("", "namespaces", 0)
}

// What an admission policy refuses is made soon after the policy was mended, of which no event tells.
func TestPolicyThatIsMended(t *testing.T) {
	e := env.NewRunning(t)
	policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings := policies.GroupVersion().WithResource("validatingadmissionpolicybindings")
	e.Apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
  validations: [{expression: "!('of' in object.metadata.?labels.orValue({}))", message: "no such ConfigMap here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}`, e.Namespace))
	mend := func() { e.Delete(bindings, "", e.Namespace); e.Delete(policies, "", e.Namespace) }
	t.Cleanup(mend)
	e.Eventually(func() error { // The policy is in force some time after it was made.
		probe := e.Parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, labels: {of: probe}}}")
		if _, err := e.In(env.ConfigMaps).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
			return errors.New("the policy is not in force")
		}
		return nil
	})
	e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", ""),
		env.UpdatedChildren, env.Hooks(`
export const sync = ({parent: {metadata, spec}}) => {
  if (spec.broken) throw new Error("broken");
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name, labels: {of: "parent"}}, data: {text: "made"}}]};
};`, "sync"))
	// That the script has failed for so long must not hold up what comes after it.
	e.ApplyThing("a", "", "broken: true")
	e.WaitForEvent("a", "SyncError", "HookFailed", "broken")
	for n := range 12 {
		before := failures(e)
		e.Patch(e.Things(), "a", fmt.Sprintf(`{"spec": {"n": %d}}`, n))
		waitForFailures(e, before+1)
	}
	e.Patch(e.Things(), "a", `{"spec": {"broken": false}}`)
	e.WaitForEvent("a", "SyncError", "ApplyFailed", "no such ConfigMap here")
	mend()
	e.WaitFor(env.ConfigMaps, "a", env.HasText("made"))
}

// A script that throws is not asked the same over and over, and at once when it is given something else.
func TestScriptThatThrowsRests(t *testing.T) {
	e := env.NewRunning(t)
	e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", ""),
		env.UpdatedChildren, env.Hooks(`
export const sync = ({parent: {spec}}) => { if (spec.broken) throw new Error("broken"); return {children: [], status: {said: "well"}}; };`, "sync"))
	e.ApplyThing("a", "", "broken: true")
	e.ApplyThing("b", "", "broken: false")
	e.WaitForEvent("a", "SyncError", "HookFailed", "broken")
	e.WaitFor(e.Things(), "b", env.HasSaid("well"))
	e.WaitForQuiet()
	failed := failures(e)
	// In the time that this takes there would have been many retries.
	for n := range 10 {
		e.Patch(e.Things(), "b", fmt.Sprintf(`{"spec": {"n": %d}}`, n))
		e.WaitFor(e.Things(), "b", env.IsObserved)
	}
	if more := failures(e) - failed; more != 0 {
		t.Errorf("the script that throws was asked the same %v times more", more)
	}
	e.Patch(e.Things(), "a", `{"spec": {"broken": false}}`)
	e.WaitFor(e.Things(), "a", env.HasSaid("well"))
}
