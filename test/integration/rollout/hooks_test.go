package rollout_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// customized is the end of a definition with a customize hook, which the texts of these tests have.
const (
	plain      = "script: {path: sync.js}}}"
	customized = "script: {path: sync.js}}, customize: {version: v2, script: {path: sync.js}}}"
)

// customizing makes the script give children a value, and another one to those of parents whose definition has a customize hook.
func (s *scene) customizing(value string) {
	s.T.Helper()
	s.write(fmt.Sprintf(`export function sync({parent, controller}) {
  const value = controller.spec.hooks.customize ? "c-%[1]s" : "%[1]s";
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value}}]};
}
export function customize() { return {relatedResources: []}; }
`, value))
}

// waitForSynced waits until all parents are synced and none fails.
func (s *scene) waitForSynced(parents int32) {
	s.T.Helper()
	s.Eventually(func() error {
		if status := s.status(); ptr.Deref(status.SyncedParents, -1) != parents || ptr.Deref(status.FailingParents, -1) != 0 {
			return errors.New(s.describe())
		}
		return nil
	})
}

// TestHookAddedAndRemoved adds a hook to a definition with steps, and takes it away, together with the scripts: what served does not do for other hooks, but
// for the spec that served with it.
func TestHookAddedAndRemoved(t *testing.T) {
	t.Parallel()
	const steps = "{steps: [{parents: 1, pauseSeconds: %d}]}"
	s := newScene(t, 4, fmt.Sprintf(steps, 0))
	s.customizing("two")
	s.waitForValues(map[string]int{"two": 4})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	r := s.record()
	s.Apply(replace(s.text(fmt.Sprintf(steps, 600)), plain, customized))
	s.waitForValues(map[string]int{"two": 3, "c-two": 1})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "of the definition is rolled out: step 1 of 2", "its pause began")
	s.waitForSynced(4)
	s.run("promote "+s.definition, "")
	s.waitForValues(map[string]int{"c-two": 4})
	s.waitForPhase(v1alpha1.ScriptsComplete)

	s.customizing("three")
	s.waitForValues(map[string]int{"c-two": 3, "c-three": 1})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "revision ", "its pause began")
	s.Apply(s.text(fmt.Sprintf(steps, 600)))
	s.waitForValues(map[string]int{"c-two": 3, "three": 1})
	s.waitForSynced(4)
	s.run("abort "+s.definition, "")
	s.waitForValues(map[string]int{"c-two": 4})
	s.waitForSynced(4)
	r.check(t, "two", "c-two", "c-three", "three")
}

// TestHookAddedWhileDown adds a hook while no host runs, in the middle of a rollout: what served goes on, and the newest pair begins anew.
func TestHookAddedWhileDown(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4, "{steps: [{parents: 1, pauseSeconds: 600}]}")
	s.customizing("two")
	s.waitForValues(map[string]int{"one": 3, "two": 1})
	r := s.record()
	s.Kill()
	s.Apply(replace(s.text("{steps: [{parents: 1, pauseSeconds: 600}]}"), plain, customized))
	s.start()
	s.waitForValues(map[string]int{"one": 3, "c-two": 1})
	s.waitForSynced(4)
	s.run("promote "+s.definition, "")
	s.waitForValues(map[string]int{"c-two": 4})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	r.check(t, "one", "two", "c-two")
}
