package rollout_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// run runs a subcommand of libretto rollout, which has to print all parts.
func (s *scene) run(line string, parts ...string) {
	s.T.Helper()
	program, err := cluster.Binary("libretto")
	s.NoError(err)
	arguments := append([]string{"rollout"}, strings.Fields(line)...)
	out, err := exec.CommandContext(s.T.Context(), program, append(arguments, "--kubeconfig", s.Cluster.Kubeconfig)...).CombinedOutput()
	if err != nil {
		s.T.Fatalf("libretto rollout %s: %v: %s", line, err, out)
	}
	for _, part := range parts {
		if !strings.Contains(string(out), part) {
			s.T.Errorf("libretto rollout %s does not print %q: %s", line, part, out)
		}
	}
}

// events returns the reason of each event of the rollout of the definition, and how often it was sent.
func (s *scene) events(reason string) (all []string) {
	s.T.Helper()
	list, err := s.Cluster.Dynamic().Resource(env.Events).List(s.T.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=" + s.definition})
	s.NoError(err)
	for _, event := range list.Items {
		count, _, _ := unstructured.NestedInt64(event.Object, "count")
		message, _, _ := unstructured.NestedString(event.Object, "message")
		if got, _, _ := unstructured.NestedString(event.Object, "reason"); got == reason {
			all = append(all, fmt.Sprintf("%d times: %s", count, message))
		}
	}
	return all
}

// TestStepThatMatchesNoParent: a canary's label with a typing mistake stops the rollout, over a restart, with one event of each process, until it is promoted or
// the selector is correct.
func TestStepThatMatchesNoParent(t *testing.T) {
	t.Parallel()
	const steps = "{steps: [{selector: {matchLabels: {tier: %s}}, pauseSeconds: 600}, {parents: 50%%, pauseSeconds: 600}]}"
	s := newScene(t, 10, fmt.Sprintf(steps, "canray"))
	r := s.record()
	s.edit("two", "")
	s.WaitForCondition(s.definition, "Progressing", "False", "StepMatchesNoParent", "step 1 of 3", "steps[0].selector matches: tier=canray",
		"libretto rollout promote compositecontroller/"+s.definition)
	s.WaitForEvent(s.definition, "StepMatchesNoParent", "tier=canray")
	s.Restart()
	s.WaitForQuiet()
	if state := s.rollout(); state.Phase != v1alpha1.ScriptsProgressing || *state.Step != 1 || s.values()["one"] != 10 {
		t.Errorf("it has gone on: %s", s.describe())
	}
	s.ApplyThing("new", "", "") // Another parent is no news.
	s.waitForValues(map[string]int{"one": 11})
	s.WaitForQuiet()
	parts := s.events("StepMatchesNoParent")
	if again := func(event string) bool { return !strings.HasPrefix(event, "1 times: ") }; len(parts) > 2 || slices.ContainsFunc(parts, again) {
		t.Errorf("events %q, want one of each process at most", parts)
	}
	r.check(t, "one")

	s.define(fmt.Sprintf(steps, "canary"))
	s.waitForValues(map[string]int{"one": 9, "two": 2})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 1 of 3", "its pause began")
	s.run("promote "+s.definition, "is promoted past step 1 of 3\n", "step 2 begins now")
	s.waitForValues(map[string]int{"one": 5, "two": 6})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 2 of 3", "its pause began")
	s.Restart() // The request is still there, and is about a step that is over.
	s.WaitForQuiet()
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 2 of 3")

	s.run("abort "+s.definition, "is aborted at step 2 of 3\n", "all parents get revision")
	s.waitForValues(map[string]int{"one": 11})
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "it was aborted")
	if parts := s.events("RolledBack"); len(parts) != 1 || !strings.HasPrefix(parts[0], "1 times: ") {
		t.Errorf("events %q, want one", parts)
	}
	s.edit("three", "")
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 1 of 3", "its pause began")
	s.run("promote --full "+s.definition, "is promoted past all 3 steps\n")
	s.waitForValues(map[string]int{"three": 11})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.edit("four", "") // It was asked for once.
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 1 of 3", "its pause began")
	s.waitForValues(map[string]int{"three": 9, "four": 2})
	r.check(t, "one", "two", "three", "four")
}

// TestAbortWhilePaused: who pauses a rollout may still take it back. The text that waits behind it is reported.
func TestAbortWhilePaused(t *testing.T) {
	t.Parallel()
	const steps = "{steps: [{parents: 4, pauseSeconds: 600}], paused: %t}"
	s := newScene(t, 8, fmt.Sprintf(steps, false))
	s.edit("two", "")
	s.waitForValues(map[string]int{"one": 4, "two": 4})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "its pause began")
	s.define(fmt.Sprintf(steps, true))
	s.waitForPhase(v1alpha1.ScriptsPaused)
	s.edit("three", "")
	s.WaitForCondition(s.definition, "Progressing", "True", "Paused", "after step 1 of 2; revision ", ", which the scripts hold by now, waits")
	s.run("status "+s.definition, "which the scripts hold by now, waits")
	// As the guide says it for those without libretto.
	fields := "jsonpath=abort {.status.scriptRollout.updatedRevision} {.status.scriptRollout.step} {.status.scriptRollout.startedAt}"
	request := s.Kubectl("get", "cc", s.definition, "-o", fields)
	s.Kubectl("annotate", "--overwrite", "cc", s.definition, v1alpha1.RolloutRequestAnnotation+"="+request)
	s.waitForValues(map[string]int{"one": 8})
	s.WaitForCondition(s.definition, "Progressing", "True", "Paused", "; revision ", ", which the scripts hold by now, waits")
	s.define(fmt.Sprintf(steps, false))
	s.waitForValues(map[string]int{"one": 4, "three": 4})
}

// TestSpecHeldWithTheSameScripts: an edit of the definition is compared with what serves, and is named by its generation, as the scripts are the
// same.
func TestSpecHeldWithTheSameScripts(t *testing.T) {
	t.Parallel()
	s := newScene(t, 4, "{}")
	object := s.ClusterScope().Get(env.Definitions(s.kind), s.definition)
	before := object.GetGeneration()
	s.PatchDefinition(s.kind, s.definition, `{"spec": {"generateSelector": false}}`) // Parents without a selector fail.
	c := s.WaitForCondition(s.definition, "Stalled", "True", "Held", fmt.Sprintf("generation %d of the spec, with revision ", before+1),
		fmt.Sprintf("generation %d goes on serving", before))
	if strings.Contains(c.Message, "nothing to compare it with") {
		t.Errorf("it was compared: %s", c.Message)
	}
}
