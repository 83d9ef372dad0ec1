package kinds

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// elsewhere makes a ConfigMap in each of the namespaces that the spec names.
const elsewhere = `
export const sync = ({parent: {spec, metadata}}) => ({children: spec.namespaces.map(namespace => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name, namespace}, data: {text: namespace}}))});`

// newSites makes a scene with Sites, which are in no namespace and have ConfigMaps in others.
func newSites(t *testing.T, strategy string) *scene {
	w := newScene(t)
	w.Apply(env.CRD(w.Group, "Site", "Cluster"))
	w.define(composite, "", "generateSelector: true", "applyStrategy: "+strategy, hooks(elsewhere, "sync"),
		fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: sites}", w.Group),
		"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]")
	return w
}

// site applies a Site, named after the test's namespace, with children in namespaces.
func (w *scene) site(namespaces string) string {
	w.T.Helper()
	w.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Site, metadata: {name: %s}, spec: {namespaces: [%s]}}", w.Group, w.Namespace, namespaces))
	return w.Namespace
}

// inNamespace is the same scene with another namespace.
func (w *scene) inNamespace(namespace string) *scene {
	other := *w.Env
	other.Namespace = namespace
	return &scene{&other}
}

func (w *scene) namespace(name string) {
	w.T.Helper()
	w.Apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
	w.T.Cleanup(func() { w.Delete(namespaces, "", name) })
}

// mustWatchNamespaces waits until namespaces are watched so many times.
func (w *scene) mustWatchNamespaces(want int) {
	w.T.Helper()
	cluster.Eventually(w.T, env.Timeout, func() error {
		open, err := w.Cluster.OpenWatches(w.T.Context(), env.UserAgent, "", "namespaces")
		if err != nil {
			return err
		}
		if len(open) != want {
			return fmt.Errorf("%d watches of namespaces are open, want %d:\n%s", len(open), want, open)
		}
		return nil
	})
}

// failed is how many passes of the CompositeController have failed.
func (w *scene) failed() float64 { return w.Reconciles(w.Namespace, "error") }

// mustFail waits until so many passes have failed.
func (w *scene) mustFail(want float64) {
	w.T.Helper()
	cluster.Eventually(w.T, 2*env.Timeout, func() error {
		if got := w.failed(); got < want {
			return fmt.Errorf("%v passes have failed", got)
		}
		return nil
	})
}

func TestNamespaceThatComes(t *testing.T) {
	for _, strategy := range []string{"DynamicApply", "ServerSideApply"} {
		t.Run(strategy, func(t *testing.T) {
			w := newSites(t, strategy)
			w.mustWatchNamespaces(0)
			late := w.Namespace + "-late"
			name := w.site(w.Namespace + ", " + late)
			w.WaitFor(env.ConfigMaps, name, hasText(w.Namespace)) // The one is not held up by the other.
			w.WaitForEvent(name, "SyncError", "ApplyFailed", "ConfigMap "+late+"/"+name, "create it")
			w.mustWatchNamespaces(1)
			// From 1 s on each failure doubles the time until the next try.
			const backoff = 6 * time.Second
			w.mustFail(3)
			mark := w.Mark()
			w.mustFail(5)
			if writes := w.Requests(mark).Writes().Of("", "configmaps"); len(writes) > 0 {
				t.Errorf("it is tried though the namespace is known not to be there:\n%s", writes)
			}
			start := time.Now()
			w.namespace(late)
			w.inNamespace(late).WaitFor(env.ConfigMaps, name, hasText(late))
			if took := time.Since(start); took > backoff {
				t.Errorf("the namespace was there, and the child only %s later", took)
			}
			w.mustWatchNamespaces(0)
		})
	}
}

func TestNamespaceOnItsWayOut(t *testing.T) {
	w := newSites(t, "DynamicApply")
	late := w.Namespace + "-late"
	there := w.inNamespace(late)
	w.namespace(late)
	there.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}")
	there.Delete(namespaces, "", late)
	name := w.site(late)
	w.WaitForEvent(name, "SyncError", "ApplyFailed", "being terminated", "create it")
	there.Patch(env.ConfigMaps, "held", `{"metadata": {"finalizers": null}}`)
	w.ClusterScope().WaitForDeletion(namespaces, late, "")
	w.namespace(late)
	there.WaitFor(env.ConfigMaps, name, hasText(late))
}

// A parent that is held back while its namespace goes sees its children go one by one, and can have no other.
func TestOwnNamespaceOnItsWayOut(t *testing.T) {
	const count = 30
	w := newScene(t)
	w.define(composite, "", "generateSelector: true", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}", w.Group),
		"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]", hooks(fmt.Sprintf(`
export const sync = ({parent: {metadata}}) => ({children: Array.from({length: %d}, (_, n) => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name + n, labels: {of: "parent"}}}))});`, count), "sync"))
	late := w.Namespace + "-late"
	there := w.inNamespace(late)
	w.namespace(late)
	there.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: a, finalizers: [example.com/hold]}, spec: {}}", w.Group))
	names := func(want int) {
		t.Helper()
		cluster.Eventually(t, env.Timeout, func() error {
			if got := len(there.List(env.ConfigMaps, "of=parent")); got != want {
				return fmt.Errorf("%d children, want %d", got, want)
			}
			return nil
		})
	}
	names(count)
	w.WaitForQuiet()
	mark := w.Mark()
	// The children are taken away as they are when a namespace goes, but with the parent not deleted yet.
	there.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}")
	there.Delete(namespaces, "", late)
	names(0)
	w.WaitForQuiet()
	if tries := w.Requests(mark).Verbs("create").Of("", "configmaps").In(late); len(tries) > 3*count {
		t.Errorf("%d creations were tried in a namespace that is being deleted, of %d children", len(tries), count)
	} else {
		t.Logf("%d creations were tried", len(tries))
	}
	there.Patch(env.ConfigMaps, "held", `{"metadata": {"finalizers": null}}`)
	there.Patch(w.resource("Thing"), "a", `{"metadata": {"finalizers": null}}`)
	w.ClusterScope().WaitForDeletion(namespaces, late, "")
	w.mustWatchNamespaces(0)
}

// What an admission policy refuses is made soon after the policy was mended, of which no event tells.
func TestPolicyThatIsMended(t *testing.T) {
	w := newScene(t)
	policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings := policies.GroupVersion().WithResource("validatingadmissionpolicybindings")
	w.Apply(fmt.Sprintf(`
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
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}`, w.Namespace))
	mend := func() { w.Delete(bindings, "", w.Namespace); w.Delete(policies, "", w.Namespace) }
	t.Cleanup(mend)
	cluster.Eventually(t, env.Timeout, func() error { // The policy is in force some time after it was made.
		probe := w.Parse("{apiVersion: v1, kind: ConfigMap, metadata: {name: probe, labels: {of: probe}}}")
		if _, err := w.In(env.ConfigMaps).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
			return fmt.Errorf("the policy is not in force")
		}
		return nil
	})
	w.define(composite, "", "generateSelector: true", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}", w.Group),
		"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]", hooks(`
export const sync = ({parent: {metadata, spec}}) => {
  if (spec.broken) throw new Error("broken");
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name, labels: {of: "parent"}}, data: {text: "made"}}]};
};`, "sync"))
	// That the script has failed for so long must not hold up what comes after it.
	w.object("Thing", "a", "", "broken: true")
	w.WaitForEvent("a", "SyncError", "HookFailed", "broken")
	for n := range 12 {
		before := w.failed()
		w.Patch(w.resource("Thing"), "a", fmt.Sprintf(`{"spec": {"n": %d}}`, n))
		w.mustFail(before + 1)
	}
	w.Patch(w.resource("Thing"), "a", `{"spec": {"broken": false}}`)
	w.WaitForEvent("a", "SyncError", "ApplyFailed", "no such ConfigMap here")
	mend()
	w.WaitFor(env.ConfigMaps, "a", hasText("made"))
}

// A script that throws is not asked the same over and over, and at once when it is given something else.
func TestScriptThatThrowsRests(t *testing.T) {
	w := newScene(t)
	w.define(composite, "", "generateSelector: true", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}", w.Group),
		"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]", hooks(`
export const sync = ({parent: {spec}}) => { if (spec.broken) throw new Error("broken"); return {children: [], status: {said: "well"}}; };`, "sync"))
	w.object("Thing", "a", "", "broken: true")
	w.object("Thing", "b", "", "broken: false")
	w.WaitForEvent("a", "SyncError", "HookFailed", "broken")
	w.WaitFor(w.resource("Thing"), "b", said("well"))
	w.WaitForQuiet()
	failed := w.failed()
	// In the time that this takes there would have been many retries.
	for n := range 10 {
		w.Patch(w.resource("Thing"), "b", fmt.Sprintf(`{"spec": {"n": %d}}`, n))
		w.WaitFor(w.resource("Thing"), "b", observed)
	}
	if more := w.failed() - failed; more != 0 {
		t.Errorf("the script that throws was asked the same %v times more", more)
	}
	w.Patch(w.resource("Thing"), "a", `{"spec": {"broken": false}}`)
	w.WaitFor(w.resource("Thing"), "a", said("well"))
}

func said(text string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(o.Object, "status", "said"); got != text {
			return fmt.Errorf("said %q, want %q", got, text)
		}
		return nil
	}
}

func observed(o *unstructured.Unstructured) error {
	if got, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration"); got != o.GetGeneration() {
		return fmt.Errorf("generation %d was observed, want %d", got, o.GetGeneration())
	}
	return nil
}
