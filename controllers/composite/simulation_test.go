package composite

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/apply"
)

// TestRollingUpdateSimulation makes many rolling updates, in every combination of scopes and methods, with a
// host that is killed after any number of writes of each reconcile.
func TestRollingUpdateSimulation(t *testing.T) {
	scopes := map[string]scope{"namespaced/namespaced": bothInNamespace, "cluster/namespaced": childInOne, "cluster/cluster": bothInNone}
	limits := map[string]int{"": 1, ", maxUnavailable: 2": 2, ", maxUnavailable: 50%": 3}
	for place, s := range scopes {
		for _, method := range []string{"RollingRecreate", "RollingInPlace"} {
			for limit, most := range limits {
				t.Run(fmt.Sprintf("%s/%s/%d", place, method, most), func(t *testing.T) {
					for seed := range uint64(4) {
						strategy := fmt.Sprintf(`{method: %s, statusChecks: {conditions: [{type: Ready, status: "True"}]}%s}`, method, limit)
						simulate(t, newEnv(t, s, strategy, "a", "b", "c", "d", "e", "f"), most, seed)
					}
				})
			}
		}
	}
}

// simulate changes the parent a few times during its rollouts and then waits for the end.
func simulate(t *testing.T, e *env, most int, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	for e.reconcile(t) > 0 {
		e.becomeReady()
	}
	for _, image := range []string{"v2", "v3", "v2", "v1", "v4"} {
		e.setImage(image)
		for range random.IntN(30) {
			step(t, e, random, most)
		}
	}
	for range 400 {
		step(t, e, random, most)
	}
	expectFinished(t, e)
}

// step is an interrupted reconcile, or a change by others.
func step(t *testing.T, e *env, random *rand.Rand, most int) {
	t.Helper()
	if random.IntN(2) == 0 {
		child := e.children[random.IntN(len(e.children))]
		if child.GetDeletionTimestamp() != nil {
			e.children = remove(e.children, child)
		} else {
			setReady(child, "True")
		}
		return
	}
	o := e.observed()
	d, err := e.desired(o)
	if err != nil {
		t.Fatal(err)
	}
	records, rest := e.writes(t, o, d)
	random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	writes := append(records, rest...)
	for _, write := range writes[:random.IntN(len(writes)+1)] {
		write()
	}
	if unavailable := unavailableChildren(e); len(unavailable) > most {
		t.Fatalf("%s are unavailable at once, and %d may be: %s %q", unavailable, most, images(e.children), describeRevisions(e.revisions))
	}
}

// unavailableChildren returns the children that are missing, being deleted or not ready.
func unavailableChildren(e *env) []string {
	var down []string
	for _, name := range valueAt(e.parent.Object, []string{"spec", "names"}).([]any) {
		well := false
		for _, child := range e.children {
			if child.GetName() == name {
				ready := failedCheck(e.config.Spec.ChildResources[0].UpdateStrategy.StatusChecks.Conditions, child) == ""
				well = ready && child.GetDeletionTimestamp() == nil && observedGeneration(child) == child.GetGeneration()
			}
		}
		if !well {
			down = append(down, name.(string))
		}
	}
	return down
}

// expectFinished checks that the rollout is complete and that nothing is left to write.
func expectFinished(t *testing.T, e *env) {
	t.Helper()
	for range 3 {
		e.becomeReady()
		e.reconcile(t)
	}
	if n := e.reconcile(t); n != 0 {
		t.Errorf("a reconcile after the end writes %d times", n)
	}
	image := valueAt(e.parent.Object, []string{"spec", "template", "image"})
	for _, child := range e.children {
		if got := valueAt(child.Object, []string{"spec", "image"}); got != image {
			t.Errorf("%s is at %v, want %v", apply.KeyOf(child), got, image)
		}
	}
	if got := describeCondition(e.parent.Object["status"].(map[string]any)); !strings.HasPrefix(got, "True OnLatestRevision") {
		t.Errorf("in the end the condition is %q", got)
	}
}

// TestPausedSimulation scales a paused rollout up and down at random, with a host that is
// killed after any number of writes: while one child of the old revision stays, no other is
// of the new one.
func TestPausedSimulation(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for seed := range uint64(50) {
		e := newEnv(t, bothInNamespace, "{method: RollingRecreate, paused: true}", names[:3]...)
		random := rand.New(rand.NewPCG(seed, 2))
		for e.reconcile(t) > 0 {
			e.becomeReady()
		}
		e.setImage("v2")
		for range 60 {
			if random.IntN(4) == 0 {
				others := names[1:]
				random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
				e.setNames(names[:1+random.IntN(len(names))]...)
			}
			o := e.observed()
			d, err := e.desired(o)
			if err != nil {
				t.Fatal(err)
			}
			records, rest := e.writes(t, o, d)
			random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
			writes := append(records, rest...)
			for _, write := range writes[:random.IntN(len(writes)+1)] {
				write()
			}
			if random.IntN(2) == 0 {
				e.becomeReady()
			}
			if got := images(e.children); strings.Contains(got, "v2") {
				t.Fatalf("seed %d: while paused, the children are %s: %q", seed, got, describeRevisions(e.revisions))
			}
		}
		e.config.Spec.ChildResources[0].UpdateStrategy.Paused = nil
		for range 40 {
			e.reconcile(t)
			e.becomeReady()
		}
		expectFinished(t, e)
	}
}
