package rollout_test

import (
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestSteps rolls an edit out by labels, then to a share of the parents, then to all. Between the steps the spec is edited.
func TestSteps(t *testing.T) {
	t.Parallel()
	const steps = `{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: %d}, {parents: 25%%, pauseSeconds: %d}]}`
	s := newScene(t, 20, fmt.Sprintf(steps, 600, 600))
	r := s.record()
	before := s.rollout().StableRevision
	s.edit("two", "")
	s.waitForValues(map[string]int{"one": 18, "two": 2})
	for _, n := range []int{0, 1} {
		s.WaitFor(env.ConfigMaps, thing(n), env.HasField("two", "data", "value"))
	}
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 1 of 3", "the step has gone well, and its pause began at ")
	state := s.rollout()
	if *state.Parents != 2 || *state.UpdatedParents != 2 || state.StableRevision != before || state.UpdatedRevision == before {
		t.Errorf("after the first step: %s", s.describe())
	}
	if text := s.Kubectl("get", "compositecontroller", s.definition); !strings.Contains(text, "RollingOut") {
		t.Errorf("kubectl get says nothing of it:\n%s", text)
	}
	if revision := s.status().ScriptRevisionHash; revision != before {
		t.Errorf("the status says that %s serves, want the stable revision %s", revision, before)
	}

	s.define(fmt.Sprintf(steps, 0, 600))
	s.waitForValues(map[string]int{"one": 15, "two": 5})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "step 2 of 3")

	s.define(fmt.Sprintf(steps, 0, 0))
	s.waitForValues(map[string]int{"two": 20})
	state = s.waitForPhase(v1alpha1.ScriptsComplete)
	s.WaitForCondition(s.definition, "Progressing", "True", "Serving")
	if state.StableRevision == before || state.UpdatedRevision != "" || state.Step != nil {
		t.Errorf("at the end: %s", s.describe())
	}
	r.check(t, "one", "two")
}

// TestRollback rolls out a script that fails for one parent of 200: it is taken back in the step in which that parent is, and no child of
// any parent is ever deleted.
func TestRollback(t *testing.T) {
	t.Parallel()
	const parents = 200
	s := newScene(t, parents, "{steps: [{parents: 10}, {parents: 50%}]}", "--script-preview=false")
	r := s.record()
	before := s.rollout().StableRevision
	failing := s.thirdStep(parents)
	s.edit("two", failing)
	s.WaitForCondition(s.definition, "Progressing", "False", "RolledBack", "Thing "+s.Namespace+"/"+failing+" fails: ", "sync.js:3:", "no",
		"kubectl annotate --overwrite compositecontroller "+s.definition)
	s.waitForValues(map[string]int{"one": parents})
	s.WaitForEvent(s.definition, "RolledBack", failing)
	state := s.rollout()
	if state.Phase != v1alpha1.ScriptsRolledBack || state.StableRevision != before || state.FailedRevision == "" || state.UpdatedRevision != "" {
		t.Errorf("after the rollback: %s", s.describe())
	}
	if !slices.Contains(r.states, "Progressing 3") {
		t.Errorf("it went through %v, and not to the step in which the parent is", r.states)
	}
	r.check(t, "one", "two")

	s.Restart() // The failed text is not tried again.
	s.ApplyThing("new", "", "")
	s.WaitFor(env.ConfigMaps, "new", env.HasField("one", "data", "value"))
	s.edit("three", "")
	s.waitForValues(map[string]int{"three": parents + 1})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	r.check(t, "one", "two", "three")
}

// TestHold leaves parents as they are when one fails.
func TestHold(t *testing.T) {
	t.Parallel()
	s := newScene(t, 20, "{steps: [{parents: 5}], failurePolicy: Hold}", "--script-preview=false")
	s.edit("two", s.thirdStep(20))
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "goes no further than step 2 of 2")
	s.waitForValues(map[string]int{"one": 1, "two": 19})
}

// TestPauseAndPin pauses an edit before it begins, and puts an archived revision to work.
func TestPauseAndPin(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, "{steps: [{parents: 5}]}")
	first := s.rollout().StableRevision
	s.edit("two", "")
	s.waitForValues(map[string]int{"two": 10})
	s.waitForPhase(v1alpha1.ScriptsComplete)
	s.define("{steps: [{parents: 5}], paused: true}")
	s.edit("three", "")
	s.waitForPhase(v1alpha1.ScriptsPaused)
	s.waitForValues(map[string]int{"two": 10})
	s.define("{steps: [{parents: 5}], revision: " + first[:16] + "}")
	s.waitForValues(map[string]int{"one": 10})
	s.WaitForCondition(s.definition, "Progressing", "True", "Pinned: ", "as spec.scriptRollout.revision pins it")
	s.define("{steps: [{parents: 5}]}")
	s.waitForValues(map[string]int{"three": 10})
}

// TestFailsAlready rolls out an edit while a parent of the first step fails with any text, and kills the host in the middle, which then has to
// know that it did: nothing is wrong with the edit.
func TestFailsAlready(t *testing.T) {
	t.Parallel()
	for how, spec := range map[string]string{"fails": "fails: true", "refused": "refused: true"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, 6, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 1}]}")
			s.ApplyThing("bad", "tier: canary", spec)
			s.WaitForCondition(s.definition, "ParentsSynced", "False", "bad")
			r := s.record()
			s.edit("two", "")
			for seen := range r.seen {
				if seen == "Progressing 1" {
					break
				}
			}
			s.Kill()
			s.start()
			s.waitForValues(map[string]int{"two": 6})
			s.waitForPhase(v1alpha1.ScriptsComplete)
			s.Kill()
			s.edit("three", "") // Nobody knows at the start that the parent failed before.
			s.start()
			s.waitForValues(map[string]int{"three": 6})
			s.waitForPhase(v1alpha1.ScriptsComplete)
			r.check(t, "one", "two", "three")
		})
	}
}

// TestApproveTwice approves an edit by the command each time it has failed: it is tried again each time, and never by itself.
func TestApproveTwice(t *testing.T) {
	t.Parallel()
	s := newScene(t, 3, "{steps: [{parents: 1}]}", "--script-preview=false")
	first := s.firstStep(3)
	r := s.record()
	s.edit("two", first)
	s.waitForPhase(v1alpha1.ScriptsRolledBack)
	for times := 2; times <= 3; times++ {
		s.approve()
		s.Eventually(func() error {
			if got := r.tries(); got != times {
				return fmt.Errorf("it was tried %d times, want %d: %v\n%s", got, times, r.all(), s.describe())
			}
			return nil
		})
		s.waitForPhase(v1alpha1.ScriptsRolledBack)
	}
	s.Restart()
	s.ApplyThing("new", "", "")
	s.WaitFor(env.ConfigMaps, "new", env.HasField("one", "data", "value"))
	s.WaitForQuiet()
	if got := r.tries(); got != 3 {
		t.Errorf("it was tried %d times: %v", got, r.all())
	}
}

// approve runs libretto rollout approve.
func (s *scene) approve() {
	s.T.Helper()
	program, err := cluster.Binary("libretto")
	s.NoError(err)
	c := exec.CommandContext(s.T.Context(), program, "rollout", "approve", s.definition, "--kubeconfig", s.Cluster.Kubeconfig)
	if out, err := c.CombinedOutput(); err != nil {
		s.T.Fatalf("%v: %s", err, out)
	}
}

// tries returns how often an edit has begun.
func (r *recorder) tries() (count int) {
	for _, state := range r.all() {
		if state == "Progressing 1" {
			count++
		}
	}
	return count
}

// TestWaiting shows the parent that a step waits for in the condition, since when and until when.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := newScene(t, 2, "{steps: [{parents: 1}]}")
	s.write("export function sync() { return {waiting: {reason: \"NoLicence\", message: \"there is no licence\"}}; }\n")
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "it waits since 20", " for Thing "+s.Namespace+"/", "there is no licence",
		"; the edit counts as failed if it has not gone well by 20")
}

// TestEditedWhileDown makes edits in the middle of a rollout while no host runs. Each is previewed when one starts: a good one begins anew from the
// stable text, and one that makes no children is held, while the rollout stays where it was.
func TestEditedWhileDown(t *testing.T) {
	t.Parallel()
	s := newScene(t, 10, "{steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 600}]}")
	r := s.record()
	s.edit("two", "")
	s.waitForValues(map[string]int{"one": 8, "two": 2})
	s.WaitForCondition(s.definition, "Progressing", "True", "RollingOut", "its pause began")
	second := s.rollout()
	s.Kill()
	s.edit("three", "")
	s.start()
	s.waitForValues(map[string]int{"one": 8, "three": 2})
	s.Eventually(func() error {
		state := s.rollout()
		if state.StableRevision != second.StableRevision || state.UpdatedRevision == second.UpdatedRevision || *state.Step != 1 || *state.UpdatedParents != 2 {
			return fmt.Errorf("%s", s.describe())
		}
		return nil
	})
	s.Kill()
	s.write("export function sync() { return {children: []}; }\n")
	s.start()
	s.WaitForCondition(s.definition, "Progressing", "False", "Held", "it would delete 10 of 10 children of 10 of 10 parents")
	s.waitForValues(map[string]int{"one": 8, "three": 2})
	r.check(t, "one", "two", "three")
}

// thirdStep returns the Thing with the highest hash: one that no step but the last has. firstStep returns the one that all steps have.
func (s *scene) thirdStep(parents int) string {
	s.T.Helper()
	return s.byHash(parents)[parents-1]
}

func (s *scene) firstStep(parents int) string {
	s.T.Helper()
	return s.byHash(parents)[0]
}

func (s *scene) byHash(parents int) []string {
	s.T.Helper()
	hashes := map[string]uint32{}
	for n := range parents {
		hashes[thing(n)] = hashOf(string(s.Get(s.Things(), thing(n)).GetUID()))
	}
	return slices.SortedFunc(maps.Keys(hashes), func(a, b string) int { return cmp.Compare(hashes[a], hashes[b]) })
}
