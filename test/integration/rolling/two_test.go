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

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// TestTwoDefinitions has two definitions roll out children of the same parent: each in ControllerRevisions of its own,
// without an end that is not quiet. The parent has no status subresource, as a status is one definition's.
func TestTwoDefinitions(t *testing.T) {
	s := &stage{env.New(t)}
	duo := s.Parse(strings.ReplaceAll(env.CRD(s.Group, "Duo", "Namespaced"), "    subresources: {status: {}}\n", ""))
	if err := s.Cluster.Apply(t.Context(), s.Namespace, duo); err != nil {
		t.Fatal(err)
	}
	s.start()
	names := map[schema.GroupVersionResource]string{env.ConfigMaps: s.Namespace + "-one", secrets: s.Namespace + "-two"}
	s.duet(names[env.ConfigMaps], "ConfigMap")
	s.duet(names[secrets], "Secret")
	t.Cleanup(func() { s.Delete(s.resource("Duo"), s.Namespace, "d") })
	for _, version := range []string{"v1", "v2", "v3", "v2"} {
		s.Apply(fmt.Sprintf(`{apiVersion: %s/v1, kind: Duo, metadata: {name: d}, spec: {version: %s}}`, s.Group, version))
		for resource, definition := range names {
			for n := range 3 {
				s.mustHave(resource, fmt.Sprintf("d-%d", n), version)
			}
			cluster.Eventually(t, env.Timeout, func() error { return s.holdsAll(definition, version) })
		}
	}
	s.WaitForQuiet()
	mark := s.Mark()
	for n := range 3 {
		before := map[string]float64{}
		for _, definition := range names {
			before[definition] = s.Reconciles(definition, "success")
		}
		s.Patch(s.resource("Duo"), "d", fmt.Sprintf(`{"metadata": {"annotations": {"touched": "%d"}}}`, n))
		for definition, passes := range before {
			s.WaitForReconciles(definition, passes, 1)
		}
	}
	requests := s.Requests(mark).Filter(func(r cluster.Request) bool { return r.Resource != env.CompositeControllers.Resource })
	if len(requests) > 0 {
		t.Errorf("two definitions that have nothing to do make requests:\n%s", requests)
	}
}

// duet defines three children of a kind for each Duo, updated one by one.
func (s *stage) duet(name, kind string) {
	s.T.Helper()
	script := fmt.Sprintf(`export const sync = ({parent}) => ({children: [0, 1, 2].map((n) => ({
		apiVersion: "v1", kind: %q, metadata: {name: parent.metadata.name + "-" + n, annotations: {version: parent.spec.version}}}))})`, kind)
	s.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: duos}
  childResources: [{apiVersion: v1, resource: %ss, updateStrategy: {method: RollingInPlace}}]
  hooks: {sync: {version: v2, script: {engine: JavaScript, inline: %s}}}
`, name, s.Group, strings.ToLower(kind), env.Quote(script)))
	s.WaitForCondition(name, "Ready", "True")
}

func (s *stage) mustHave(resource schema.GroupVersionResource, name, version string) {
	s.T.Helper()
	s.WaitFor(resource, name, func(object *unstructured.Unstructured) error {
		if got := object.GetAnnotations()["version"]; got != version {
			return fmt.Errorf("%s %s is at %s, want %s", resource.Resource, name, got, version)
		}
		return nil
	})
}

// holdsAll checks that of a definition's revisions just the one of a version has children.
func (s *stage) holdsAll(definition, version string) error {
	s.T.Helper()
	all := s.List(env.Revisions, "metacontroller.k8s.io/composite-controller="+definition)
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
