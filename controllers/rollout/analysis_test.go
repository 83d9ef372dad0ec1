package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

func TestAnalysis(t *testing.T) {
	const one, paused = "Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 1 of 2, 1 parents pause"
	const failed = "RolledBack A failed B: steps[0].analysis[0]: it is 3"
	for name, c := range map[string]struct {
		reason string
		world  *world
		run    func(t *testing.T, w *world)
		want   []string
	}{
		"it holds": {
			reason: "The step goes on.", world: newWorld(4, checked(number(1, 0))),
			run:  func(t *testing.T, w *world) { w.says = AnalysisPassed; edit("B")(t, w) },
			want: []string{one, "Progressing A->B step 2 of 2, 4 parents", "Complete B"},
		},
		"it does not hold": {
			reason: "The edit is taken back.", world: newWorld(4, checked(number(1, 0))),
			run:  func(t *testing.T, w *world) { w.says = AnalysisFailed; edit("B")(t, w) },
			want: []string{one, failed},
		},
		"it does not hold during the pause": {
			reason: "The rest of the pause is not waited for.", world: newWorld(4, checked(number(1, 60))),
			run: func(t *testing.T, w *world) {
				w.says = AnalysisPassed
				edit("B")(t, w)
				w.says, w.now = AnalysisFailed, w.now.Add(6*time.Second)
				w.settle(t)
			},
			want: []string{one, paused, failed},
		},
		"it does not hold at the end of the pause": {
			reason: "What was true before the end of the pause does not count.", world: newWorld(4, checked(number(1, 60))),
			run: func(t *testing.T, w *world) {
				w.says = AnalysisPassed
				edit("B")(t, w)
				w.now = w.now.Add(58 * time.Second)
				w.settle(t)
				w.says, w.now = AnalysisFailed, w.now.Add(3*time.Second)
				w.settle(t)
			},
			want: []string{one, paused, failed},
		},
		"it can't be made": {
			reason: "That is no success, and a failure by the deadline.", world: newWorld(4, checked(number(1, 0))),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				if w.last.Waiting != "steps[0].analysis[0]: it is 3" || w.last.After != 600*time.Second {
					t.Errorf("it waits for %q, until %s", w.last.Waiting, w.last.After)
				}
				w.now = w.now.Add(w.last.After)
				w.settle(t)
			},
			want: []string{one, "RolledBack A failed B: step 1 has not gone well within 600 seconds: steps[0].analysis[0]: it is 3"},
		},
		"it can't be made during the pause": {
			reason: "The step waits at the end of the pause, with a deadline from then on.", world: newWorld(4, checked(number(1, 60))),
			run: func(t *testing.T, w *world) {
				w.says = AnalysisPassed
				edit("B")(t, w)
				w.says, w.now = AnalysisUnknown, w.now.Add(30*time.Second)
				if w.settle(t); w.last.Waiting == "" || !w.last.Deadline.IsZero() {
					t.Errorf("in the pause: %+v", w.last)
				}
				w.now = w.now.Add(600 * time.Second)
				if w.settle(t); w.by("B") != 1 || w.last.Deadline.IsZero() {
					t.Errorf("%d parents have it after the pause: %+v", w.by("B"), w.last)
				}
				w.says, w.now = AnalysisPassed, w.now.Add(5*time.Second)
				w.settle(t)
			},
			want: []string{one, paused, "Progressing A->B step 2 of 2, 4 parents", "Complete B"},
		},
		"parents that are not well": {
			reason: "Nothing is asked before the step goes well otherwise.", world: newWorld(4, checked(number(1, 0))),
			run: func(t *testing.T, w *world) {
				w.says, w.parents[w.lowest()[0]].unready["B"] = AnalysisFailed, true
				if edit("B")(t, w); w.last.Analyze.ID != "" {
					t.Errorf("it asks for %+v", w.last.Analyze)
				}
			},
			want: []string{one},
		},
		"no parents": {
			reason: "There is nothing to look at.", world: newWorld(0, checked(number(1, 0))),
			run: edit("B"), want: []string{"Complete B"},
		},
		"promoted": {
			reason: "Who asks for it does not wait for the analysis; it says nothing of the next step.",
			world:  newWorld(4, checked(number(1, 0)), checked(number(2, 0))),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.ask(v1alpha1.PromoteRequest)
				w.settle(t)
			},
			want: []string{"Progressing A->B step 1 of 3, 1 parents", "Progressing A->B step 2 of 3, 2 parents"},
		},
		"other checks": {
			reason: "What checks said that are not in the spec any more does not count.", world: newWorld(4, checked(number(1, 60))),
			run: func(t *testing.T, w *world) {
				w.says = AnalysisPassed
				edit("B")(t, w)
				w.spec.Steps[0].Analysis[0].CEL, w.spec.Steps[0].PauseSeconds = "false", nil
				for range 3 { // The answer is late.
					w.decide()
				}
				w.says = AnalysisFailed
				w.settle(t)
			},
			want: []string{one, paused, failed},
		},
		"a restart": {
			reason: "The checks are made again.", world: newWorld(4, checked(number(1, 60))),
			run: func(t *testing.T, w *world) {
				w.says = AnalysisPassed
				edit("B")(t, w)
				w.now = w.now.Add(61 * time.Second)
				w.restart()
				w.says = AnalysisUnknown
				if w.settle(t); w.by("B") != 1 {
					t.Errorf("%d parents have it", w.by("B"))
				}
				w.says, w.now = AnalysisFailed, w.now.Add(5*time.Second)
				w.settle(t)
			},
			want: []string{one, paused, failed},
		},
		"hold": {
			reason: "It goes on if the analysis holds after all; numbers that change are no news.", world: newWorld(4, checked(number(1, 0))),
			run: func(t *testing.T, w *world) {
				w.spec.FailurePolicy, w.says = v1alpha1.HoldScripts, AnalysisFailed
				edit("B")(t, w)
				w.now = w.now.Add(5 * time.Second)
				w.analyze()
				w.analysis.Message = "it is 4"
				w.settle(t)
				w.says, w.now = AnalysisPassed, w.now.Add(5*time.Second)
				w.settle(t)
			},
			want: []string{one, "Held A->B step 1 of 2, 1 parents: steps[0].analysis[0]: it is 3", "Progressing A->B step 2 of 2, 4 parents", "Complete B"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.run(t, c.world)
			if diff := cmp.Diff(c.want, c.world.named()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestChildrenBefore: how many children a parent had is stored with the state that gives it the edit, and stays over restarts and over another
// edit that takes the place of the one that has deleted some. Those that have fewer are reported in the pause.
func TestChildrenBefore(t *testing.T) {
	w := newWorld(4, number(1, 60), number(3, 60))
	for _, b := range w.parents {
		b.children = map[string]int{"A": 3, "B": 1, "C": 2}
	}
	edit("B")(t, w)
	w.restart()
	w.settle(t)
	if got := w.before(); len(got) != 1 || got[w.lowest()[0]] != 3 {
		t.Errorf("in step 1: %v", got)
	}
	if want := w.lowest()[0] + " has 1 of the 3 children that it had before"; w.last.Lost != want {
		t.Errorf("it tells %q, want %q", w.last.Lost, want)
	}
	w.now = w.now.Add(61 * time.Second)
	w.settle(t)
	if got := w.before(); len(got) != 3 || got[w.lowest()[0]] != 3 || got[w.lowest()[2]] != 3 {
		t.Errorf("in step 2: %v", got)
	}
	if !strings.HasSuffix(w.last.Lost, "; 2 other parents have fewer, too") {
		t.Errorf("it tells %q", w.last.Lost)
	}
	edit("C")(t, w)
	if got := w.before(); len(got) != 3 || got[w.lowest()[0]] != 3 {
		t.Errorf("of the next edit: %v", got)
	}
	delete(w.parents, w.lowest()[0])
	w.now = w.now.Add(61 * time.Second)
	w.settle(t)
	if got := w.before(); len(got) != 3 || len(w.state.ChildrenBefore) != 3 {
		t.Errorf("without a parent that has gone: %v of %v", got, w.state.ChildrenBefore)
	}
	w.now = w.now.Add(61 * time.Second)
	w.settle(t)
	if w.state.Phase != v1alpha1.ScriptsComplete || w.state.ChildrenBefore != nil {
		t.Errorf("at the end: %+v", w.state)
	}
	large := newWorld(2000, canaries(), percent("50%"))
	for _, b := range large.parents {
		b.children = map[string]int{"A": 1}
	}
	last := large.lowest()[1999]
	large.parents[last].labels["tier"] = "canary"
	large.spec.Steps[1].PauseSeconds = new(int32(60))
	edit("B")(t, large)
	if got := large.before(); len(got) != maxRemembered || got[last] != 1 || *large.state.Step != 2 {
		t.Errorf("%d of many are kept, and of the first step %d", len(got), got[last])
	}
}

// before returns what is stored of children, by the names of their parents.
func (w *world) before() map[string]int {
	all := map[string]int{}
	for name := range w.parents {
		if n, is := ChildrenByParent(w.state.ChildrenBefore)[w.parent(name).Hash]; is {
			all[name] = n
		}
	}
	return all
}

// TestAnalysisID: what was said in one attempt says nothing in another.
func TestAnalysisID(t *testing.T) {
	w := newWorld(4, checked(number(1, 0)))
	w.says = AnalysisUnknown
	edit("B")(t, w)
	first := w.last.Analyze
	w.spec.Paused = new(true)
	w.settle(t)
	w.spec.Paused, w.now = nil, w.now.Add(time.Minute)
	w.settle(t)
	if second := w.last.Analyze; first.ID == "" || second.ID == first.ID || second.Step != 1 {
		t.Errorf("%+v, then %+v", first, second)
	}
}
