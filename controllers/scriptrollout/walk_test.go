package scriptrollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// TestWalk makes edits of texts, specs and parents at random between decisions, some of which are not stored: a host that is killed and
// one that takes over see the same. Whatever happens, a parent has the stable or the updated revision, the bound does not shrink during an
// edit, and once the edits end, so does the rollout.
func TestWalk(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 18))
		w := newWorld(random.IntN(12), number(1+random.IntN(3), int32(random.IntN(60))), percent("50%"))
		for range 60 {
			disturb(random, w)
			before := w.state
			if random.IntN(5) == 0 {
				Next(w.input()) // Killed before it is stored.
				continue
			}
			w.decide()
			checkBound(t, seed, before, w.state)
			if random.IntN(3) > 0 {
				w.sync()
				checkRevisions(t, seed, w)
			}
		}
		checkEnd(t, seed, w)
		if t.Failed() {
			t.Fatalf("seed %d:\n%v", seed, w.log)
		}
	}
}

// disturb changes something.
func disturb(random *rand.Rand, w *world) {
	names := w.lowest()
	switch random.IntN(12) {
	case 0:
		w.target = string(rune('A' + random.IntN(4)))
	case 1:
		w.add(fmt.Sprintf("n%03d", random.IntN(1000)), "")
	case 2:
		if len(names) > 0 {
			delete(w.parents, names[random.IntN(len(names))])
		}
	case 3:
		if len(names) > 0 {
			w.parents[names[random.IntN(len(names))]].labels["tier"] = []string{"canary", "other"}[random.IntN(2)]
		}
	case 4:
		if len(names) > 0 {
			w.parents[names[random.IntN(len(names))]].fails[string(rune('A'+random.IntN(4)))] = random.IntN(2) == 0
		}
	case 5:
		if len(names) > 0 {
			w.parents[names[random.IntN(len(names))]].unready[string(rune('A'+random.IntN(4)))] = random.IntN(2) == 0
		}
	case 6:
		w.spec = &v1alpha1.ScriptRollout{Steps: []v1alpha1.ScriptRolloutStep{canaries(), percent("10%"), number(4, 5)}[:random.IntN(4)]}
	case 7:
		if w.spec != nil {
			w.spec.Paused = ptr.To(random.IntN(2) == 0)
		}
	case 8:
		w.approved = []string{"", "A", "B", "C"}[random.IntN(4)]
	case 9:
		if w.spec != nil {
			w.spec.Revision = []string{"", "", "P"}[random.IntN(3)]
		}
	case 10:
		if w.spec != nil {
			w.spec.FailurePolicy = []v1alpha1.ScriptFailurePolicy{"", v1alpha1.HoldScripts}[random.IntN(2)]
		}
	default:
		w.now = w.now.Add(time.Duration(random.IntN(400)) * time.Second)
	}
}

func checkBound(t *testing.T, seed uint64, before, after State) {
	t.Helper()
	if after.UpdatedRevision != "" && after.UpdatedRevision == before.UpdatedRevision && ptr.Deref(after.Bound, 0) < ptr.Deref(before.Bound, 0) {
		t.Errorf("seed %d: the bound has shrunk from %d to %d", seed, *before.Bound, ptr.Deref(after.Bound, 0))
	}
}

func checkRevisions(t *testing.T, seed uint64, w *world) {
	t.Helper()
	if !IsManaged(w.spec, &w.state) || w.state.StableRevision == "" {
		return
	}
	for name, b := range w.parents {
		if b.revision != w.state.StableRevision && b.revision != w.state.UpdatedRevision {
			t.Errorf("seed %d: %s is of revision %s: %s", seed, name, b.revision, w)
		}
	}
}

// checkEnd lets time go by and then expects that nothing is going on any more.
func checkEnd(t *testing.T, seed uint64, w *world) {
	t.Helper()
	if w.spec != nil {
		w.spec.Paused, w.spec.Revision = nil, ""
	}
	for range 10 {
		w.settle(t)
		w.now = w.now.Add(time.Hour)
	}
	final := []v1alpha1.ScriptRolloutPhase{v1alpha1.ScriptsComplete, v1alpha1.ScriptsRolledBack, v1alpha1.ScriptsHeld, ""}
	if !slices.Contains(final, w.state.Phase) {
		t.Errorf("seed %d: it never ends: %s", seed, w)
	}
	if w.state.Phase == v1alpha1.ScriptsComplete && (w.state.StableRevision != w.target || w.by(w.target) != len(w.parents)) {
		t.Errorf("seed %d: complete, with %d of %d parents: %s", seed, w.by(w.target), len(w.parents), w)
	}
	w.sync()
	checkRevisions(t, seed, w)
}
