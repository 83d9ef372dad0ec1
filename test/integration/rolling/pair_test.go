package rolling

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestTwoDefinitions has two definitions roll out children of the same parent: each in ControllerRevisions of its own,
// without an end that is not quiet. The parent has no status subresource, as a status is one definition's.
func TestTwoDefinitions(t *testing.T) {
	e := env.New(t)
	duo := e.Parse(strings.ReplaceAll(env.CRD(e.Group, "Duo", "Namespaced"), "    subresources: {status: {}}\n", ""))
	env.NoError(t, e.Cluster.Apply(t.Context(), e.Namespace, duo))
	start(e)
	names := map[schema.GroupVersionResource]string{
		env.ConfigMaps: definePair(e, "-one", "ConfigMap"), env.Secrets: definePair(e, "-two", "Secret"),
	}
	t.Cleanup(func() { e.Delete(e.Resource("Duo"), e.Namespace, "d") })
	for _, version := range []string{"v1", "v2", "v3", "v2"} {
		e.Apply(fmt.Sprintf(`{apiVersion: %s/v1, kind: Duo, metadata: {name: d}, spec: {version: %s}}`, e.Group, version))
		for resource, definition := range names {
			for n := range 3 {
				waitForVersion(e, resource, fmt.Sprintf("d-%d", n), version)
			}
			e.Eventually(func() error { return checkClaimsOf(e, definition, version) })
		}
	}
	e.WaitForQuiet()
	mark := e.Mark()
	for n := range 3 {
		before := map[string]float64{}
		for _, definition := range names {
			before[definition] = e.Reconciles(definition, "success")
		}
		e.Patch(e.Resource("Duo"), "d", fmt.Sprintf(`{"metadata": {"annotations": {"touched": "%d"}}}`, n))
		for definition, passes := range before {
			e.WaitForReconciles(definition, passes, 1)
		}
	}
	requests := e.Requests(mark).Filter(func(r cluster.Request) bool { return r.Resource != env.CompositeControllers.Resource })
	if len(requests) > 0 {
		t.Errorf("two definitions that have nothing to do make requests:\n%s", requests)
	}
}

// definePair defines three children of a kind for each Duo, updated one by one.
func definePair(e *env.Env, suffix, kind string) string {
	e.T.Helper()
	script := fmt.Sprintf(`export const sync = ({parent}) => ({children: [0, 1, 2].map((n) => ({
		apiVersion: "v1", kind: %q, metadata: {name: parent.metadata.name + "-" + n, annotations: {version: parent.spec.version}}}))})`, kind)
	return e.DefineReady(env.Composite, suffix, "generateSelector: true", e.Parent("duos", ""), env.Hooks(script, "sync"),
		fmt.Sprintf("childResources: [{apiVersion: v1, resource: %ss, updateStrategy: {method: RollingInPlace}}]", strings.ToLower(kind)))
}

// waitForVersion waits until an object has a version.
func waitForVersion(e *env.Env, resource schema.GroupVersionResource, name, version string) {
	e.T.Helper()
	e.WaitFor(resource, name, env.HasAnnotation("version", version))
}

// checkClaimsOf checks that just one of a definition's revisions has children: that of a version.
func checkClaimsOf(e *env.Env, definition, version string) error {
	e.T.Helper()
	all := e.List(env.Revisions, "metacontroller.k8s.io/composite-controller="+definition)
	if len(all) == 0 {
		return fmt.Errorf("%s has no revisions", definition)
	}
	for name, revision := range all {
		want := 0
		if of, _, _ := unstructured.NestedString(revision.Object, "parentPatch", "spec", "version"); of == version {
			want = 3
		}
		if got := claims(revision); len(got) != want {
			return fmt.Errorf("revision %s of %s has children %v, want %d", name, definition, got, want)
		}
	}
	return nil
}
