package rollout_test

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestRollingChildren rolls out an edit of parents whose children are updated a few at a time: a step waits for that, and then goes well.
func TestRollingChildren(t *testing.T) {
	t.Parallel()
	const parents, children = 4, 3
	for _, method := range []string{"RollingInPlace", "RollingRecreate"} {
		for _, changes := range []string{"Immediate", "Rolling"} {
			t.Run(method+" "+changes, func(t *testing.T) {
				t.Parallel()
				s := &scene{Env: env.NewWithThings(t), kind: env.Composite}
				s.definition = s.Namespace
				s.editMany("one", children)
				s.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %[1]s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things, revisionHistory: {scriptChanges: %s}}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: %s}}]
  scriptSources: [{configMap: {namespace: %[1]s, name: hooks}}]
  scriptRollout: {steps: [{parents: 1}, {parents: 50%%}], progressDeadlineSeconds: 15, preview: {maxRecreatedChildren: 100%%}}
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`, s.Namespace, s.Group, changes, method))
				for n := range parents {
					s.ApplyThing(thing(n), "", "")
				}
				s.start("--script-preview=false") // It would hold an edit that recreates all children.
				s.waitForValues(map[string]int{"one": parents * children})
				before := s.waitForPhase(v1alpha1.ScriptsComplete)
				s.editMany("two", children)
				s.Eventually(func() error {
					state := s.rollout()
					if state.Phase == v1alpha1.ScriptsRolledBack {
						t.Fatalf("it was taken back:\n%s", s.describe())
					}
					if state.Phase != v1alpha1.ScriptsComplete || state.StableRevision == before.StableRevision {
						return fmt.Errorf("it is not complete:\n%s", s.describe())
					}
					return nil
				})
				s.waitForValues(map[string]int{"two": parents * children})
			})
		}
	}
}

// editMany makes the script give each Thing so many children, with a value.
func (s *scene) editMany(value string, children int) {
	s.T.Helper()
	s.write(fmt.Sprintf(`export function sync({parent}) {
  const child = (_, n) => ({
    apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-" + n}, data: {value: %q},
  });
  return {children: Array.from({length: %d}, child)};
}
`, value, children))
}
