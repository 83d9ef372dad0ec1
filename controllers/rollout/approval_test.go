package rollout

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// TestApproval plays sequences of annotations and failures of revision B, of which the first parent of the first step fails.
func TestApproval(t *testing.T) {
	const step, rolledBack, held = "Progressing A->B step 1 of 2, 1 parents",
		"RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no", "Held A->B step 1 of 2, 1 parents: NAME fails: HookFailed: sync.js:3:9: no"
	complete := []string{"Progressing A->B step 2 of 2, 2 parents", "Complete B"}
	type play = func(*testing.T, *world)
	annotate := func(revision string) play { return func(t *testing.T, w *world) { w.approved = revision; w.settle(t) } }
	mend := func(_ *testing.T, w *world) { clear(w.parents[w.lowest()[0]].fails) }
	pause := func(paused bool) play { return func(t *testing.T, w *world) { w.spec.Paused = &paused; w.settle(t) } }
	restart := func(t *testing.T, w *world) { w.restart(); w.settle(t) }
	hold := func(_ *testing.T, w *world) { w.spec.FailurePolicy = v1alpha1.HoldScripts }
	for name, c := range map[string]struct {
		reason string
		plays  []play
		want   []string
	}{
		"the annotation stays": {
			reason: "It is tried again once.",
			plays:  []play{edit("B"), annotate("B"), restart, restart},
			want:   []string{step, rolledBack, step, rolledBack},
		},
		"it is mended before the approval": {
			reason: "An approval is what tries it again.", plays: []play{edit("B"), mend, restart, annotate("B")},
			want: append([]string{step, rolledBack, step}, complete...),
		},
		"the annotation was there before": {
			reason: "It is older than the failure.", plays: []play{annotate("B"), edit("B"), restart}, want: []string{"Complete A", step, rolledBack},
		},
		"it let the edit through its preview": {
			reason: "That is older than the failure too.",
			plays: []play{annotate("B"), func(t *testing.T, w *world) {
				w.letThrough = "B"
				edit("B")(t, w)
			}, restart},
			want: []string{"Complete A", step, rolledBack},
		},
		"let through, and taken off before it failed": {
			reason: "One that comes after the failure counts, though the tree still tells of the first one.",
			plays: []play{annotate("B"), func(t *testing.T, w *world) {
				w.letThrough, w.target = "B", "B"
				w.decide()
				w.approved = ""
				w.settle(t)
			}, annotate(""), annotate("B"), annotate("B")},
			want: []string{"Complete A", step, rolledBack, step, rolledBack},
		},
		"twice": {
			reason: "Taken off and put there again, it counts again.",
			plays:  []play{edit("B"), annotate("B"), annotate(""), annotate("B"), annotate(""), mend, annotate("B")},
			want:   append([]string{step, rolledBack, step, rolledBack, step, rolledBack, step}, complete...),
		},
		"taken off at once": {
			reason: "It counts once it has been seen; a tool may take it off before the edit fails again.",
			plays: []play{edit("B"), func(t *testing.T, w *world) {
				w.approved = "B"
				w.decide()
				w.approved = ""
				w.settle(t)
			}, annotate("B")},
			want: []string{step, rolledBack, step, rolledBack, step, rolledBack},
		},
		"another edit in between": {
			reason: "The old annotation says nothing when the failed text comes back.",
			plays:  []play{edit("B"), annotate("B"), edit("A"), edit("B"), restart},
			want: []string{
				step, rolledBack, step, rolledBack, "Complete A failed B: NAME fails: HookFailed: sync.js:3:9: no", rolledBack,
			},
		},
		"while it is paused": {
			reason: "It counts once the rollout goes on.",
			plays:  []play{edit("B"), mend, pause(true), annotate("B"), pause(false)},
			want:   append([]string{step, rolledBack, step}, complete...),
		},
		"held, the annotation was there before": {
			reason: "What let the edit through its preview does not let it through all failures.",
			plays:  []play{hold, annotate("B"), edit("B"), restart}, want: []string{"Complete A", step, held},
		},
		"held, and approved": {
			reason: "It reaches all, whoever fails.", plays: []play{hold, edit("B"), annotate("B")}, want: []string{step, held, "Complete B"},
		},
		"held, approved while it is paused": {
			reason: "It counts once the rollout goes on; what is held stays held meanwhile.",
			plays:  []play{hold, edit("B"), pause(true), annotate("B"), restart, pause(false)}, want: []string{step, held, "Complete B"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, number(1, 0))
			w.parents[w.lowest()[0]].fails["B"] = true
			for _, play := range c.plays {
				play(t, w)
			}
			if diff := cmp.Diff(c.want, w.named()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestBefore rolls out an edit by which a parent fails that has failed before, or is not ready and was not before.
func TestBefore(t *testing.T) {
	steps := func(edit string) []string {
		return []string{"Progressing A->" + edit + " step 1 of 2, 1 parents", "Progressing A->" + edit + " step 2 of 2, 2 parents", "Complete " + edit}
	}
	first := func(w *world) *box { return w.parents[w.lowest()[0]] }
	for name, c := range map[string]struct {
		reason string
		run    func(t *testing.T, w *world)
		want   []string
	}{
		"failed before": {
			reason: "A refused write was there before the edit.",
			run: func(t *testing.T, w *world) {
				first(w).fails["A"], first(w).fails["B"] = true, true
				edit("B")(t, w)
			},
			want: steps("B"),
		},
		"failed before, and a restart": {
			reason: "The status remembers it.",
			run: func(t *testing.T, w *world) {
				first(w).fails["A"], first(w).fails["B"], w.target = true, true, "B"
				w.decide()
				w.restart()
				w.settle(t)
			},
			want: steps("B"),
		},
		"edited while no process ran": {
			reason: "The edit waits until the process knows how parents were without it.",
			run: func(t *testing.T, w *world) {
				first(w).fails["A"], first(w).fails["B"], w.target = true, true, "B"
				w.restart()
				if w.decide(); w.state.UpdatedRevision != "" || w.last.Waiting != "b00: has not been synced since the host started" || w.last.After <= 0 {
					t.Errorf("it has begun: %s, waiting for %q, after %s", w, w.last.Waiting, w.last.After)
				}
				w.settle(t)
				w.sync()
				w.settle(t)
			},
			want: append([]string{"Complete A"}, steps("B")...),
		},
		"a parent that can't be synced": {
			reason: "An edit does not wait for it for longer than the deadline of a step.",
			run: func(_ *testing.T, w *world) {
				w.target = "B"
				w.restart()
				w.decide()
				w.now = w.now.Add(w.last.After)
				w.decide()
			},
			want: []string{"Complete A", "Progressing A->B step 1 of 2, 1 parents"},
		},
		"failed with an edit that this one takes the place of": {
			reason: "That is no excuse for this one.",
			run: func(t *testing.T, w *world) {
				w.spec.FailurePolicy = v1alpha1.HoldScripts
				first(w).fails["B"], first(w).fails["C"] = true, true
				edit("B")(t, w)
				edit("C")(t, w)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "Held A->B step 1 of 2, 1 parents: NAME fails: HookFailed: sync.js:3:9: no",
				"Progressing A->C step 1 of 2, 1 parents", "Held A->C step 1 of 2, 1 parents: NAME fails: HookFailed: sync.js:3:9: no",
			},
		},
		"failed before two edits": {
			reason: "It stays known when another edit takes the place of the first one, which it has by now.",
			run: func(t *testing.T, w *world) {
				w.spec.Steps[0].PauseSeconds = new(int32(60))
				for _, revision := range []string{"A", "B", "C"} {
					first(w).fails[revision] = true
				}
				edit("B")(t, w)
				w.spec.Steps[0].PauseSeconds = nil
				edit("C")(t, w)
			},
			want: append([]string{"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 1 of 2, 1 parents pause"}, steps("C")...),
		},
		"fails in another step": {
			reason: "It failed before its own step began, and not before the first one.",
			run: func(t *testing.T, w *world) {
				w.spec.Steps[0].PauseSeconds = new(int32(60))
				edit("B")(t, w)
				last := w.parents[w.lowest()[1]]
				last.fails["A"], last.fails["B"] = true, true
				w.spec.Steps[0].PauseSeconds = nil
				w.settle(t)
			},
			want: slices.Insert(steps("B"), 1, "Progressing A->B step 1 of 2, 1 parents pause"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2, number(1, 0))
			c.run(t, w)
			if diff := cmp.Diff(c.want, w.named()); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
