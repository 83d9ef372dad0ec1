package rollout_test

import (
	"fmt"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/env"
)

// waitForKstatus waits until kstatus, the condition Ready and the reason for it are as wanted.
func (s *scene) waitForKstatus(want, ready, reason string) {
	s.T.Helper()
	s.Eventually(func() error {
		object := s.ClusterScope().Get(env.Definitions(s.kind), s.definition)
		c := s.ConditionOf(object, "Ready")
		got := fmt.Sprintf("%s, Ready %s (%s)", s.Kstatus(object), c.Status, c.Reason)
		if want := fmt.Sprintf("%s, Ready %s (%s)", want, ready, reason); got != want {
			return fmt.Errorf("it is %s, want %s:\n%s", got, want, s.describe())
		}
		return nil
	})
}

// isNeverCurrent watches the definition until the returned function is called, which fails the test if kstatus has taken it for Current
// meanwhile.
func (s *scene) isNeverCurrent() (check func(what string)) {
	s.T.Helper()
	var mu sync.Mutex
	seen, current := map[string]bool{}, []any(nil)
	s.watch(s.ClusterScope().In(env.Definitions(s.kind)), func(_ watch.EventType, object *unstructured.Unstructured) {
		if object.GetName() != s.definition {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if seen[object.GetResourceVersion()] = true; s.Kstatus(object) == "Current" {
			current = append(current, object.Object["status"])
		}
	})
	return func(what string) {
		s.T.Helper()
		s.Eventually(func() error {
			version := s.ClusterScope().Get(env.Definitions(s.kind), s.definition).GetResourceVersion()
			mu.Lock()
			defer mu.Unlock()
			if !seen[version] {
				return fmt.Errorf("version %s has not been seen", version)
			}
			return nil
		})
		mu.Lock()
		defer mu.Unlock()
		if len(current) > 0 {
			s.T.Errorf("%s: it was Current for a moment: %v", what, current)
		}
		current = nil
	}
}

// TestKstatus computes by the rules of kstatus what Flux would see of a definition in each state of an edit: only one that serves all parents
// is Current.
func TestKstatus(t *testing.T) {
	t.Parallel()
	const steps = "steps: [{parents: 1, pauseSeconds: 600}]"
	s := newScene(t, 6, "{"+steps+"}")
	s.waitForKstatus("Current", "True", "Running")

	s.edit("two", "")
	s.WaitForCondition(s.definition, "Reconciling", "True", "RollingOut", "step 1 of 2")
	s.waitForKstatus("InProgress", "Unknown", "RollingOut")
	s.define("{" + steps + ", paused: true}")
	s.waitForKstatus("InProgress", "Unknown", "Paused")
	s.define("{steps: [{parents: 1}]}")
	s.waitForKstatus("Current", "True", "Running")

	s.edit("three", s.thirdStep(6)) // A preview holds it.
	s.WaitForCondition(s.definition, "Stalled", "True", "Held", "HookFailed")
	s.waitForKstatus("Failed", "False", "Held")
	s.WaitForMetric(1, "libretto_definition_pending_edit", map[string]string{"definition": s.definition, "state": "Stalled", "reason": "Held"})
	check := s.isNeverCurrent()
	s.Restart()
	s.WaitForQuiet()
	check("a restart while an edit is held")
	s.waitForKstatus("Failed", "False", "Held")

	s.write("export function sync({parent}) { syntax error")
	s.waitForKstatus("Failed", "False", "ScriptInvalid")
	s.Delete(env.ConfigMaps, s.Namespace, "hooks")
	s.waitForKstatus("InProgress", "Unknown", "ScriptSourceMissing")
	s.edit("two", "")
	s.waitForKstatus("Current", "True", "Running")

	first := s.rollout().StableRevision
	s.define("{revision: " + first + "}")
	s.WaitForCondition(s.definition, "Progressing", "True", "Pinned")
	s.write("export function sync({parent}) { syntax error")
	s.WaitForCondition(s.definition, "ScriptsReady", "False", "ScriptInvalid")
	s.waitForKstatus("Current", "True", "Running")
	s.WaitForMetric(1, "libretto_definition_pending_edit", map[string]string{"definition": s.definition, "state": "Pinned", "reason": "Pinned"})
	s.edit("two", "")
	s.define("{steps: [{parents: 1}]}")
	s.waitForKstatus("Current", "True", "Running")
	s.WaitForNoMetric("libretto_definition_pending_edit", map[string]string{"definition": s.definition})

	s.PatchDefinition(s.kind, s.definition, `{"spec": {"parentResource": {"resource": "nothings"}}}`)
	s.waitForKstatus("InProgress", "False", "EarlierSpecServes")
}

// TestKstatusOfRollback: an edit that was taken back, or has stopped, is Failed, and stays so over a restart.
func TestKstatusOfRollback(t *testing.T) {
	t.Parallel()
	const parents = 12
	s := newScene(t, parents, "{steps: [{parents: 1}]}", "--script-preview=false")
	s.edit("two", s.thirdStep(parents))
	s.waitForKstatus("Failed", "False", "RolledBack")
	check := s.isNeverCurrent()
	s.Restart()
	s.WaitForQuiet()
	check("a restart after a rollback")
	s.waitForKstatus("Failed", "False", "RolledBack")
	s.define("{steps: [{selector: {matchLabels: {tier: canray}}}]}")
	s.edit("three", "")
	s.waitForKstatus("Failed", "False", "StepMatchesNoParent")
	s.WaitForCondition(s.definition, "Stalled", "True", "StepMatchesNoParent", "tier=canray")
}

// TestKstatusBeforeTheHost: a definition that no host has seen yet, and one whose new spec none has, is no success.
func TestKstatusBeforeTheHost(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1, "{}")
	s.Kill()
	s.define("{steps: [{parents: 1}]}")
	s.waitForKstatus("InProgress", "True", "Running")
	s.Delete(env.Definitions(v1alpha1.CompositeControllerKind), "", s.definition)
	s.define("{}")
	s.waitForKstatus("InProgress", "", "")
}
