package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// TestWalk makes edits of texts, specs and parents at random between decisions, some of which are not stored, and restarts: a host that is killed
// and one that takes over see the same. Whatever happens, a parent has the stable or the updated revision, and nobody loses an edit that goes on;
// what is stored changes only if something else does; and once the edits end, so does the rollout.
func TestWalk(t *testing.T) {
	for seed := range uint64(2500) {
		random := rand.New(rand.NewPCG(seed, 18))
		w := newWorld(random.IntN(12), checked(number(1+random.IntN(3), int32(random.IntN(60)))), percent("50%"))
		w.says = AnalysisPassed
		for range 50 {
			disturb(random, w)
			before, members := w.state, w.members()
			if random.IntN(2) == 0 {
				w.analyze()
			}
			if random.IntN(5) == 0 {
				Next(w.input()) // Killed before it is stored.
				continue
			}
			w.decide()
			checkEdit(t, w, before, members)
			checkAnalyzed(t, w, before, members)
			if random.IntN(3) > 0 {
				w.sync()
				checkRevisions(t, w)
			}
			if random.IntN(8) == 0 {
				checkFixed(t, w)
			}
		}
		checkEnd(t, w)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(w.log, "\n"))
		}
	}
}

// disturb changes something.
func disturb(random *rand.Rand, w *world) {
	names := w.lowest()
	switch random.IntN(17) {
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
		w.spec = &v1alpha1.ScriptRollout{Steps: []v1alpha1.ScriptRolloutStep{canaries(), checked(percent("10%")), checked(number(4, 5))}[:random.IntN(4)]}
	case 7:
		if w.spec != nil {
			w.spec.Paused = new(random.IntN(2) == 0)
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
	case 11:
		if w.busyAt = w.now; random.IntN(2) == 0 {
			w.restart()
		}
	case 12:
		w.letThrough = []string{"", "A", "B", "C"}[random.IntN(4)]
	case 13:
		w.outdated = random.IntN(2) == 0
	case 14:
		w.ask([]string{v1alpha1.PromoteRequest, v1alpha1.PromoteFullRequest, v1alpha1.AbortRequest}[random.IntN(3)])
	case 15:
		w.says = AnalysisResult(random.IntN(3))
	default:
		w.now = w.now.Add(time.Duration(random.IntN(400)) * time.Second)
	}
}

// members returns the parents that have the edit.
func (w *world) members() map[string]bool {
	members, assignment := map[string]bool{}, AssignmentOf(w.spec, &w.state)
	for name := range w.parents {
		if assignment.HasUpdated(w.parent(name).Member) {
			members[name] = true
		}
	}
	return members
}

// checkEdit checks that an edit that goes on loses no parent, and that another one begins from the stable revision.
func checkEdit(t *testing.T, w *world, before State, members map[string]bool) {
	t.Helper()
	now := w.state
	switch {
	case now.UpdatedRevision == "":
		return
	case now.UpdatedRevision == now.StableRevision:
		t.Errorf("an edit of the stable revision: %s", w)
	case before.UpdatedRevision != now.UpdatedRevision:
		if before.StableRevision != now.StableRevision {
			t.Errorf("an edit begins with another stable revision than %q: %s", before.StableRevision, w)
		}
		return
	}
	if ptr.Deref(now.Bound, 0) < ptr.Deref(before.Bound, 0) || ptr.Deref(now.Step, 0) < min(ptr.Deref(before.Step, 0), ptr.Deref(now.Steps, 0)) {
		t.Errorf("the edit shrinks: %s", w)
	}
	after := w.members()
	for name := range members {
		if !after[name] {
			t.Errorf("%s loses the edit: %s", name, w)
		}
	}
}

// checkAnalyzed checks that no step with checks ends before they hold, unless somebody has asked for it.
func checkAnalyzed(t *testing.T, w *world, before State, members map[string]bool) {
	t.Helper()
	now, step := w.state, int(ptr.Deref(before.Step, 0))
	if before.UpdatedRevision == "" || w.spec == nil || step > len(w.spec.Steps) || w.spec.Steps[step-1].Analysis == nil || w.spec.Revision != "" {
		return
	}
	goesOn := now.UpdatedRevision == before.UpdatedRevision && *now.Step > *before.Step ||
		now.UpdatedRevision == "" && now.StableRevision == before.UpdatedRevision
	isAsked := w.request == before.Request(v1alpha1.PromoteRequest) || w.request == before.Request(v1alpha1.PromoteFullRequest) ||
		before.Phase == v1alpha1.ScriptsHeld && w.approved == before.UpdatedRevision
	holds := w.analysis.Result == AnalysisPassed && strings.HasPrefix(w.analysis.ID, before.Request("analyze"))
	if pause := w.spec.Steps[step-1].PauseSeconds; before.PausedAt != nil && pause != nil {
		holds = holds && !w.analysis.At.Before(before.PausedAt.Add(time.Duration(*pause)*time.Second))
	}
	if goesOn && !isAsked && len(members) > 0 && !holds {
		t.Errorf("step %d has ended, and its analysis was %+v: %s", step, w.analysis, w)
	}
}

// checkRevisions checks that no parent is of a third revision.
func checkRevisions(t *testing.T, w *world) {
	t.Helper()
	if !IsManaged(w.spec, &w.state) || w.state.StableRevision == "" {
		return
	}
	for name, b := range w.parents {
		if b.revision != w.state.StableRevision && b.revision != w.state.UpdatedRevision {
			t.Errorf("%s is of revision %s: %s", name, b.revision, w)
		}
	}
}

// checkFixed syncs and decides until nothing changes, in which no state may come twice, and expects that nothing changes then after a restart.
func checkFixed(t *testing.T, w *world) {
	t.Helper()
	seen := map[string]bool{}
	for w.sync(); w.decide(); w.sync() {
		text := fmt.Sprintf("%+v", w.state)
		if seen[text] {
			t.Fatalf("it comes back to %s:\n%s", w, strings.Join(w.log, "\n"))
		}
		seen[text] = true
	}
	stored := w.uncounted()
	w.restart()
	for range 3 {
		if w.decide(); !equality.Semantic.DeepEqual(stored, w.uncounted()) {
			t.Errorf("without new input %+v becomes %+v after a restart", stored, w.uncounted())
		}
		w.sync()
	}
}

// uncounted returns the state without the numbers of parents, which a process that has just started does not know.
func (w *world) uncounted() State {
	state := w.state
	state.Parents, state.UpdatedParents = nil, nil
	return state
}

// checkEnd lets time go by and then expects that nothing is going on any more.
func checkEnd(t *testing.T, w *world) {
	t.Helper()
	w.outdated = false
	if w.spec != nil {
		w.spec.Paused, w.spec.Revision = nil, ""
	}
	for range 10 {
		w.settle(t)
		w.now = w.now.Add(time.Hour)
	}
	final := []v1alpha1.ScriptRolloutPhase{v1alpha1.ScriptsComplete, v1alpha1.ScriptsRolledBack, v1alpha1.ScriptsHeld, ""}
	stopped := w.state.Phase == v1alpha1.ScriptsProgressing && strings.HasPrefix(w.state.Message, "no parent has labels")
	if !slices.Contains(final, w.state.Phase) && !stopped {
		t.Errorf("it never ends: %s", w)
	}
	if w.state.Phase == v1alpha1.ScriptsComplete && (w.state.StableRevision != w.target || w.by(w.target) != len(w.parents)) {
		t.Errorf("complete, with %d of %d parents: %s", w.by(w.target), len(w.parents), w)
	}
	w.sync()
	checkRevisions(t, w)
}
