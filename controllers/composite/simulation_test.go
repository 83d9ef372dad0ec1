package composite

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/apply"
)

// TestRolloutSimulation rolls out again and again, in every combination of scopes
// and methods, with a host that is killed after any number of writes of each pass.
func TestRolloutSimulation(t *testing.T) {
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

// simulate turns the parent a few times in the middle of its rollouts and then
// waits for the end.
func simulate(t *testing.T, w *env, most int, seed uint64) {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	for w.reconcile(t) > 0 {
		w.becomeReady()
	}
	for _, image := range []string{"v2", "v3", "v2", "v1", "v4"} {
		w.setImage(image)
		for range random.IntN(30) {
			step(t, w, random, most)
		}
	}
	for range 400 {
		step(t, w, random, most)
	}
	expectFinished(t, w)
}

// step is a pass that is cut short, or something that others do.
func step(t *testing.T, w *env, random *rand.Rand, most int) {
	t.Helper()
	if random.IntN(2) == 0 {
		child := w.children[random.IntN(len(w.children))]
		if child.GetDeletionTimestamp() != nil {
			w.children = remove(w.children, child)
		} else {
			setReady(child, "True")
		}
		return
	}
	o := w.observed()
	d, err := w.desired(o)
	if err != nil {
		t.Fatal(err)
	}
	records, rest := w.writes(t, o, d)
	random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	writes := append(records, rest...)
	for _, write := range writes[:random.IntN(len(writes)+1)] {
		write()
	}
	if down := unavailableChildren(w); len(down) > most {
		t.Fatalf("%s are down at once, and %d may be: %s %q", down, most, images(w.children), describeRevisions(w.revisions))
	}
}

// downs are the children that are missing, going or not well.
func unavailableChildren(w *env) []string {
	var down []string
	for _, name := range valueAt(w.parent.Object, []string{"spec", "names"}).([]any) {
		well := false
		for _, child := range w.children {
			if child.GetName() == name {
				ready := failedCheck(w.config.Spec.ChildResources[0].UpdateStrategy.StatusChecks.Conditions, child) == ""
				well = ready && child.GetDeletionTimestamp() == nil && observedGeneration(child) == child.GetGeneration()
			}
		}
		if !well {
			down = append(down, name.(string))
		}
	}
	return down
}

// finish makes sure that the rollout is over and that nothing is left to write.
func expectFinished(t *testing.T, w *env) {
	t.Helper()
	for range 3 {
		w.becomeReady()
		w.reconcile(t)
	}
	if n := w.reconcile(t); n != 0 {
		t.Errorf("a pass after the end writes %d times", n)
	}
	image := valueAt(w.parent.Object, []string{"spec", "template", "image"})
	for _, child := range w.children {
		if got := valueAt(child.Object, []string{"spec", "image"}); got != image {
			t.Errorf("%s is at %v, want %v", apply.KeyOf(child), got, image)
		}
	}
	if got := describeCondition(w.parent.Object["status"].(map[string]any)); !strings.HasPrefix(got, "True OnLatestRevision") {
		t.Errorf("in the end the condition is %q", got)
	}
}

// TestPausedSimulation scales a paused rollout up and down at random, with a host that is
// killed after any number of writes: while one child stays that is of the old revision, no
// other is of the new one.
func TestPausedSimulation(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for seed := range uint64(50) {
		w := newEnv(t, bothInNamespace, "{method: RollingRecreate, paused: true}", names[:3]...)
		random := rand.New(rand.NewPCG(seed, 2))
		for w.reconcile(t) > 0 {
			w.becomeReady()
		}
		w.setImage("v2")
		for range 60 {
			if random.IntN(4) == 0 {
				others := names[1:]
				random.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
				w.setNames(names[:1+random.IntN(len(names))]...)
			}
			o := w.observed()
			d, err := w.desired(o)
			if err != nil {
				t.Fatal(err)
			}
			records, rest := w.writes(t, o, d)
			random.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
			writes := append(records, rest...)
			for _, write := range writes[:random.IntN(len(writes)+1)] {
				write()
			}
			if random.IntN(2) == 0 {
				w.becomeReady()
			}
			if got := images(w.children); strings.Contains(got, "v2") {
				t.Fatalf("seed %d: while paused, the children are %s: %q", seed, got, describeRevisions(w.revisions))
			}
		}
		w.config.Spec.ChildResources[0].UpdateStrategy.Paused = nil
		for range 40 {
			w.reconcile(t)
			w.becomeReady()
		}
		expectFinished(t, w)
	}
}
