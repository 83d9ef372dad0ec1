package rollout_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts/archive"
	"github.com/libretto-k8s/libretto/test/env"
)

// archived returns the name of the ControllerRevision of a revision.
func (s *scene) archived(id string) string { return "composite-" + s.definition + "-" + id[:16] }

// lose deletes the archived updated revision while no host runs.
func (s *scene) lose() {
	s.T.Helper()
	name := s.archived(s.rollout().UpdatedRevision)
	s.Kill()
	s.Delete(env.ScriptRevisions, s.Namespace, name)
	s.WaitForDeletion(env.ScriptRevisions, name, "")
}

// TestUpdatedLost loses the updated revision in the middle of a rollout while no host runs: the stable one stands in for it, no parent
// fails, and the rollout begins anew with what the sources hold once they load.
func TestUpdatedLost(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}]}")
	stable := s.rollout().StableRevision
	r := s.record()
	s.edit("two", "")
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "its pause began")
	s.waitForValues(map[string]int{"one": 8, "two": 2})
	s.lose()
	s.write("export function sync( {")
	s.start()
	s.waitForValues(map[string]int{"one": 10})
	s.WaitForEvent(s.definition, "RevisionUnavailable", "revision "+stable[:16]+" serves its parents in its place")
	s.WaitForCondition(s.definition, "Progressing", "True", "Serving", "revision "+stable[:16]+" serves all parents")
	s.WaitForCondition(s.definition, "ParentsSynced", "True", "Synced")
	s.edit("two", "")
	s.waitForValues(map[string]int{"one": 8, "two": 2})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "its pause began")

	s.lose()
	s.edit("three", "")
	s.start()
	s.waitForValues(map[string]int{"one": 8, "three": 2})
	if state := s.rollout(); state.StableRevision != stable {
		t.Errorf("the rollout has begun anew from another revision than %s:\n%s", stable, s.describe())
	}
	for _, event := range s.List(env.Events, "") {
		if event.Object["reason"] == "SyncError" {
			t.Errorf("a parent failed: %v", event.Object["message"])
		}
	}
	r.check(t, "one", "two", "three")
}

// TestNotArchived edits scripts while none can be archived: no step begins with an edit that the next process would not have.
func TestNotArchived(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}]}")
	stable := s.rollout().StableRevision
	policies := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"}
	bindings := policies.GroupVersion().WithResource("validatingadmissionpolicybindings")
	s.Apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE], resources: [controllerrevisions]}]
  validations: [{expression: "false", message: "nothing is archived here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}`, s.Namespace))
	allow := func() { s.Delete(bindings, "", s.Namespace); s.Delete(policies, "", s.Namespace) }
	t.Cleanup(allow)
	s.Eventually(func() error { // The policy is in force some time after it was made.
		probe := s.Parse("{apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: probe}, revision: 1, data: {}}")
		_, err := s.In(env.ScriptRevisions).Create(t.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "nothing is archived here") {
			return fmt.Errorf("the policy is not in force: %v", err)
		}
		return nil
	})
	r := s.record()
	s.edit("two", "")
	parts := []string{"is not rolled out before it is archived: ", "nothing is archived here", "revision " + stable[:16] + " goes on serving"}
	s.WaitForCondition(s.definition, "Progressing", "False", append([]string{"NotArchived"}, parts...)...)
	s.WaitForEvent(s.definition, "NotArchived", parts...)
	s.ApplyThing("new", "tier: canary", "")
	s.WaitFor(env.ConfigMaps, "new", env.HasField("one", "data", "value"))
	r.check(t, "one")

	allow()
	state := s.waitForPhase(v1alpha1.ScriptsProgressing)
	for _, id := range []string{state.StableRevision, state.UpdatedRevision} {
		if s.Get(env.ScriptRevisions, s.archived(id)) == nil {
			t.Errorf("revision %s is not archived, and its rollout has begun", id)
		}
	}
	s.waitForValues(map[string]int{"one": 2, "two": 3})
}

// TestSettledStaysArchived makes more edits than are archived within the time in which none settles. One that the guard takes back is
// replaced by what served before all of them, also after a kill.
func TestSettledStaysArchived(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4, "{paused: false}", noPreview)
	first := s.waitForServing()
	for n := range archive.Limit + 2 {
		s.edit(fmt.Sprint(n), "")
		s.waitForValues(map[string]int{fmt.Sprint(n): 4})
	}
	s.write(lost)
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "and no more are deleted", "revision "+first[:16]+" serves")
	s.Kill()
	s.start(noPreview)
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "and no more are deleted")
	s.waitForValues(map[string]int{"one": 4})
	s.WaitForQuiet()
	s.Get(env.ScriptRevisions, s.archived(first))
}
