package rollout_test

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/env"
)

// customized is the end of a definition with a customize hook, which the texts of these tests have.
const (
	plain      = "script: {path: sync.js}}}"
	customized = "script: {path: sync.js}}, customize: {version: v2, script: {path: sync.js}}}"
)

// customizing makes the script give children a value, with a customize hook.
func (s *scene) customizing(value string) {
	s.T.Helper()
	s.write(fmt.Sprintf(`export function sync({parent}) {
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {value: %q}}]};
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

// TestHookAddedAndRemoved adds a hook to a definition with steps, before and in the middle of a rollout, and takes it away. What served does not do
// for other hooks: the edit is held, no parent fails or changes, and once it is approved it reaches all.
func TestHookAddedAndRemoved(t *testing.T) {
	t.Parallel()
	const steps = "{steps: [{parents: 1, pauseSeconds: %d}]}"
	s := newScene(t, 4, fmt.Sprintf(steps, 0))
	s.customizing("two")
	s.waitForValues(map[string]int{"two": 4})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	r := s.record()
	s.Apply(replace(s.text(fmt.Sprintf(steps, 600)), plain, customized))
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "its scripts are for the hooks customize, sync, and those that serve for sync: ",
		"all parents would get it at once", "libretto rollout approve")
	s.ApplyThing("new", "", "")
	s.WaitFor(env.ConfigMaps, "new", env.HasField("two", "data", "value"))
	s.waitForSynced(5)
	s.approve()
	s.WaitForCondition(s.definition, "Progressing", "True", "Serving")
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.waitForSynced(5)

	s.customizing("three")
	s.waitForValues(map[string]int{"two": 4, "three": 1})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "its pause began")
	s.Apply(s.text(fmt.Sprintf(steps, 600)))
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "its scripts are for the hooks sync, and those that serve for customize, sync: ")
	s.waitForSynced(5)
	s.waitForValues(map[string]int{"two": 4, "three": 1})
	s.approve()
	s.waitForValues(map[string]int{"three": 5})
	s.waitForSynced(5)
	r.check(t, "two", "three")
}

// TestHookAddedWhileDown adds a hook while no host runs, in the middle of a rollout: nothing that served does for the definition, and the newest text,
// which makes no parent fail, serves all.
func TestHookAddedWhileDown(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4, "{steps: [{parents: 1, pauseSeconds: 600}]}")
	s.customizing("two")
	s.waitForValues(map[string]int{"one": 3, "two": 1})
	r := s.record()
	s.Kill()
	s.Apply(replace(s.text("{steps: [{parents: 1, pauseSeconds: 600}]}"), plain, customized))
	s.start()
	s.waitForValues(map[string]int{"two": 4})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.waitForSynced(4)
	r.check(t, "one", "two")
}
