package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

func TestNext(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		world  *world
		run    func(t *testing.T, w *world)
		want   []string
		by     map[string]int // parents by their revision
	}{
		"share, number and all": {
			reason: "Each step has its share of all parents, with those before it, and then come all others.",
			world:  newWorld(20, percent("10%"), number(5, 0), percent("50%")),
			run:    edit("B"),
			want: []string{
				"Progressing A->B step 1 of 4, 2 parents", "Progressing A->B step 2 of 4, 5 parents",
				"Progressing A->B step 3 of 4, 10 parents", "Progressing A->B step 4 of 4, 20 parents", "Complete B",
			},
			by: map[string]int{"B": 20},
		},
		"labels": {
			reason: "Parents that a selector has count for the share of a later step.",
			world:  newWorld(20, canaries(), percent("15%")),
			run: func(t *testing.T, w *world) {
				w.parents["b03"].labels["tier"], w.parents["b07"].labels["tier"] = "canary", "canary"
				edit("B")(t, w)
			},
			want: []string{
				"Progressing A->B step 1 of 3, 2 parents", "Progressing A->B step 2 of 3, 3 parents",
				"Progressing A->B step 3 of 3, 20 parents", "Complete B",
			},
		},
		"a share is rounded up": {
			reason: "A share of 1% is one parent of few.",
			world:  newWorld(3, percent("1%")), run: edit("B"),
			want: []string{"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 2 of 2, 3 parents", "Complete B"},
		},
		"more than there are": {
			reason: "A step may ask for more parents than there are.",
			world:  newWorld(3, number(5, 0)), run: edit("B"),
			want: []string{"Progressing A->B step 1 of 2, 3 parents", "Progressing A->B step 2 of 2, 3 parents", "Complete B"},
		},
		"no parents": {
			reason: "There is nobody to wait for.",
			world:  newWorld(0, number(5, 600)), run: edit("B"), want: []string{"Complete B"},
		},
		"the first text": {
			reason: "What has no former revision serves all parents.",
			world:  newWorld(2, number(1, 0)),
			run:    func(t *testing.T, w *world) { w.state = State{}; w.settle(t) },
			want:   []string{"Complete A"},
		},
		"no steps": {
			reason: "Nothing is remembered of a definition without steps.",
			world:  newWorld(2),
			run:    func(t *testing.T, w *world) { w.settle(t); edit("B")(t, w) },
			want:   []string{" "}, by: map[string]int{"B": 2},
		},
		"a pause": {
			reason: "The pause begins when the step has gone well, and is not cut short by seconds that are stored as whole ones.",
			world:  newWorld(4, number(1, 60)),
			run: func(t *testing.T, w *world) {
				w.now = w.now.Add(300 * time.Millisecond)
				edit("B")(t, w)
				if w.last.After < 60*time.Second {
					t.Errorf("it looks again after %s", w.last.After)
				}
				w.now = w.now.Add(60 * time.Second)
				w.settle(t)
				w.now = w.now.Add(w.last.After)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 1 of 2, 1 parents pause",
				"Progressing A->B step 2 of 2, 4 parents", "Complete B",
			},
		},
		"a selector that matches nobody": {
			reason: "A canary's label with a typing mistake must not give everyone the edit. It goes on once the selector is correct.",
			world:  newWorld(4, canaries()),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.now = w.now.Add(time.Hour)
				w.restart()
				w.settle(t)
				if w.by("B") != 0 || w.last.After != 0 {
					t.Errorf("%d parents have it, and it looks again after %s", w.by("B"), w.last.After)
				}
				w.spec.Steps[0].Selector.MatchLabels = map[string]string{"tier": "prod"}
				for _, b := range w.parents {
					b.labels["tier"] = "prod"
				}
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 0 parents: " + noCanary(0), "Progressing A->B step 2 of 2, 4 parents", "Complete B",
			},
		},
		"the second selector matches nobody": {
			reason: "The parents of the first step keep the edit, and one that fails still turns it back.",
			world:  newWorld(4, number(1, 0), canaries()),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				if w.by("B") != 1 {
					t.Errorf("%d parents have it", w.by("B"))
				}
				w.parents[w.lowest()[0]].fails["B"] = true
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 3, 1 parents", "Progressing A->B step 2 of 3, 1 parents: " + noCanary(1),
				"RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
			},
		},
		"a parent with the label comes": {
			reason: "It is what the step waits for, and nothing is said of the selector any more.",
			world:  newWorld(2, canaries()),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.parents["b00"].labels["tier"], w.parents["b00"].unready["B"] = "canary", true
				w.settle(t)
			},
			want: []string{"Progressing A->B step 1 of 2, 0 parents: " + noCanary(0), "Progressing A->B step 1 of 2, 1 parents"},
		},
		"promoted past a selector that matches nobody": {
			reason: "That is asked for once: a later attempt stops there again.",
			world:  newWorld(4, canaries(), number(2, 0)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.ask(v1alpha1.PromoteRequest)
				w.settle(t)
				w.now = w.now.Add(time.Minute)
				edit("A")(t, w)
				edit("B")(t, w)
			},
			want: []string{
				"Progressing A->B step 1 of 3, 0 parents: " + noCanary(0), "Progressing A->B step 2 of 3, 2 parents", "Progressing A->B step 3 of 3, 4 parents",
				"Complete B", "Progressing B->A step 1 of 3, 0 parents: " + noCanary(0), "Complete B",
			},
		},
		"promoted out of a pause": {
			reason: "The next step has its own pause.",
			world:  newWorld(8, number(1, 600), number(2, 600)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.ask(v1alpha1.PromoteRequest)
				for range 3 { // Killed before it is stored.
					Next(w.input())
				}
				w.settle(t)
				w.restart()
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 3, 1 parents", "Progressing A->B step 1 of 3, 1 parents pause",
				"Progressing A->B step 2 of 3, 2 parents", "Progressing A->B step 2 of 3, 2 parents pause",
			},
		},
		"promoted though it is not ready": {
			reason: "Who asks for it does not wait for children; the last step waits for them again.",
			world:  newWorld(4, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[0]].unready["B"] = true
				edit("B")(t, w)
				w.ask(v1alpha1.PromoteRequest)
				w.settle(t)
			},
			want: []string{"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 2 of 2, 4 parents"},
		},
		"promoted fully": {
			reason: "It skips all steps and pauses, once.",
			world:  newWorld(8, number(1, 600), number(2, 600)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.ask(v1alpha1.PromoteFullRequest)
				w.settle(t)
				edit("A")(t, w)
			},
			want: []string{
				"Progressing A->B step 1 of 3, 1 parents", "Progressing A->B step 1 of 3, 1 parents pause", "Complete B",
				"Progressing B->A step 1 of 3, 1 parents", "Progressing B->A step 1 of 3, 1 parents pause",
			},
		},
		"promoted while a parent fails": {
			reason: "A failure comes first.",
			world:  newWorld(8, number(1, 600)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.parents[w.lowest()[0]].fails["B"] = true
				w.ask(v1alpha1.PromoteFullRequest)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 1 of 2, 1 parents pause",
				"RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
			},
		},
		"promoted while it is held": {
			reason: "That takes an approval, also after a restart, when nobody knows of the failure yet.",
			world:  newWorld(8, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.spec.FailurePolicy = v1alpha1.HoldScripts
				w.parents[w.lowest()[0]].fails["B"] = true
				edit("B")(t, w)
				w.ask(v1alpha1.PromoteFullRequest)
				w.settle(t)
				w.restart()
				w.decide()
			},
			want: []string{"Progressing A->B step 1 of 2, 1 parents", "Held A->B step 1 of 2, 1 parents: NAME fails: HookFailed: sync.js:3:9: no"},
		},
		"asked about a step that is over": {
			reason: "What came too late, or is no request, does nothing.",
			world:  newWorld(8, number(1, 600), number(2, 600)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.ask(v1alpha1.AbortRequest)
				late := w.request
				w.ask(v1alpha1.PromoteRequest)
				w.settle(t)
				for _, request := range []string{late, "abort", "abort B", "promote", " "} {
					w.request = request
					w.settle(t)
				}
			},
			want: []string{
				"Progressing A->B step 1 of 3, 1 parents", "Progressing A->B step 1 of 3, 1 parents pause",
				"Progressing A->B step 2 of 3, 2 parents", "Progressing A->B step 2 of 3, 2 parents pause",
			},
		},
		"aborted": {
			reason: "All parents get the stable text back, whatever the policy is, and it is tried again only if it is approved.",
			world:  newWorld(8, number(4, 600)),
			run: func(t *testing.T, w *world) {
				w.spec.FailurePolicy = v1alpha1.HoldScripts
				edit("B")(t, w)
				w.ask(v1alpha1.AbortRequest)
				w.settle(t)
				w.restart()
				w.settle(t)
				if w.by("A") != 8 {
					t.Errorf("%d parents have the stable text", w.by("A"))
				}
				w.now = w.now.Add(time.Minute)
				w.approved = "B"
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 4 parents", "Progressing A->B step 1 of 2, 4 parents pause", "RolledBack A failed B: it was aborted",
				"Progressing A->B step 1 of 2, 4 parents", "Progressing A->B step 1 of 2, 4 parents pause",
			},
		},
		"aborted while it is paused, and another text waits": {
			reason: "The pause keeps parents from an edit; who aborts one wants it gone.",
			world:  newWorld(8, number(4, 600)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.spec.Paused = new(true)
				w.settle(t)
				edit("C")(t, w)
				w.approved = "C"
				w.ask(v1alpha1.AbortRequest)
				w.settle(t)
				if w.by("A") != 8 || w.state.ApprovedRevision != "" {
					t.Errorf("%d parents have the stable text, approved %q", w.by("A"), w.state.ApprovedRevision)
				}
			},
			want: []string{
				"Progressing A->B step 1 of 2, 4 parents", "Progressing A->B step 1 of 2, 4 parents pause", "Paused A->B step 1 of 2, 4 parents pause",
				"RolledBack A failed B: it was aborted", "Paused A failed B: it was aborted",
			},
		},
		"a clock that was ahead": {
			reason: "The pause is no longer than it is because the process before wrote a time of the future.",
			world:  newWorld(4, number(1, 60)),
			run: func(t *testing.T, w *world) {
				w.now = w.now.Add(time.Hour)
				edit("B")(t, w)
				w.now = w.now.Add(-time.Hour)
				w.settle(t)
				if w.last.After > 61*time.Second {
					t.Errorf("the pause ends after %s", w.last.After)
				}
				w.now = w.now.Add(61 * time.Second)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 1 of 2, 1 parents pause",
				"Progressing A->B step 2 of 2, 4 parents", "Complete B",
			},
		},
		"a deadline by a clock that was ahead": {
			reason: "The deadline is not later either.",
			world:  newWorld(4, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[0]].unready["B"] = true
				w.now = w.now.Add(time.Hour)
				edit("B")(t, w)
				w.now = w.now.Add(-time.Hour)
				if w.settle(t); w.last.After > (DefaultProgressDeadline+1)*time.Second {
					t.Errorf("the deadline is in %s", w.last.After)
				}
			},
			want: []string{"Progressing A->B step 1 of 2, 1 parents"},
		},
		"rollback": {
			reason: "A parent that fails turns all back, and the failed text is not tried again.",
			world:  newWorld(20, number(1, 0), percent("50%")),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[5]].fails["B"] = true
				edit("B")(t, w)
				w.now = w.now.Add(time.Hour)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 3, 1 parents", "Progressing A->B step 2 of 3, 10 parents",
				"RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
			},
			by: map[string]int{"A": 20},
		},
		"another text after a rollback": {
			reason: "It is tried like any other, from the stable one, and then the failed one may be tried again.",
			world:  newWorld(2, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[0]].fails["B"] = true
				edit("B")(t, w)
				edit("C")(t, w)
				edit("B")(t, w)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
				"Progressing A->C step 1 of 2, 1 parents failed B", "Progressing A->C step 2 of 2, 2 parents failed B", "Complete C",
				"Progressing C->B step 1 of 2, 1 parents", "RolledBack C failed B: NAME fails: HookFailed: sync.js:3:9: no",
			},
		},
		"approval of the failed": {
			reason: "By name it is tried again, once: an annotation that was there when it failed says nothing.",
			world:  newWorld(2, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[0]].fails["B"] = true
				edit("B")(t, w)
				w.approved = "B"
				w.settle(t)
				w.settle(t)
				w.approved = ""
				w.settle(t)
				clear(w.parents[w.lowest()[0]].fails)
				w.approved = "B"
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
				"Progressing A->B step 1 of 2, 1 parents", "RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
				"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 2 of 2, 2 parents", "Complete B",
			},
		},
		"the failed text comes again": {
			reason: "What writes the sources may bring it again: it was not replaced by another one.",
			world:  newWorld(2, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[0]].fails["B"] = true
				edit("B")(t, w)
				edit("A")(t, w)
				edit("B")(t, w)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
				"Complete A failed B: NAME fails: HookFailed: sync.js:3:9: no", "RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
			},
		},
		"hold": {
			reason: "Members keep the edit, nobody else gets it, and it goes on once all is well.",
			world:  newWorld(10, number(1, 0), number(3, 0)),
			run: func(t *testing.T, w *world) {
				w.spec.FailurePolicy = v1alpha1.HoldScripts
				w.parents[w.lowest()[1]].fails["B"] = true
				edit("B")(t, w)
				if w.by("B") != 3 {
					t.Errorf("%d have it while it is held", w.by("B"))
				}
				clear(w.parents[w.lowest()[1]].fails)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 3, 1 parents", "Progressing A->B step 2 of 3, 3 parents",
				"Held A->B step 2 of 3, 3 parents: NAME fails: HookFailed: sync.js:3:9: no",
				"Progressing A->B step 3 of 3, 10 parents", "Complete B",
			},
		},
		"approval of the held": {
			reason: "By name it reaches all, whoever fails.",
			world:  newWorld(10, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.spec.FailurePolicy = v1alpha1.HoldScripts
				w.parents[w.lowest()[0]].fails["B"] = true
				edit("B")(t, w)
				w.approved = "B"
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "Held A->B step 1 of 2, 1 parents: NAME fails: HookFailed: sync.js:3:9: no", "Complete B",
			},
			by: map[string]int{"B": 10},
		},
		"deadline": {
			reason: "What does not go well in time is a failure.",
			world:  newWorld(4, number(1, 60)),
			run: func(t *testing.T, w *world) {
				w.spec.ProgressDeadlineSeconds = new(int32(30))
				w.parents[w.lowest()[0]].unready["B"] = true
				edit("B")(t, w)
				w.now = w.now.Add(w.last.After)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents",
				"RolledBack A failed B: step 1 has not gone well within 30 seconds: NAME: ConfigMap x is not ready",
			},
		},
		"a busy host": {
			reason: "The deadline begins anew when the host had no worker to sync a parent: that is reported in place of it, and no failure.",
			world:  newWorld(4, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.spec.ProgressDeadlineSeconds = new(int32(120))
				w.parents[w.lowest()[0]].unready["B"] = true
				edit("B")(t, w)
				began := w.last.Since
				for range 10 {
					w.now = w.now.Add(100 * time.Second)
					w.busyAt = w.now
					w.settle(t)
				}
				if !strings.Contains(w.last.Waiting, "no free script worker") || !w.last.Deadline.IsZero() || w.last.Since != began {
					t.Errorf("while it is busy: %+v", w.last)
				}
				w.now = w.now.Add(w.last.After)
				w.settle(t)
				if want := w.busyAt.Add(120 * time.Second); strings.Contains(w.last.Waiting, "worker") || w.last.Deadline != want || w.last.After != want.Sub(w.now) {
					t.Errorf("a minute later: %+v, want the deadline %v", w.last, want)
				}
				w.now = w.now.Add(w.last.After)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents",
				"RolledBack A failed B: step 1 has not gone well within 120 seconds: NAME: ConfigMap x is not ready",
			},
		},
		"a busy host that has just started": {
			reason: "No step begins before all parents were synced, also if that takes longer than a deadline for want of a worker.",
			world:  newWorld(4, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.spec.ProgressDeadlineSeconds = new(int32(120))
				w.restart()
				w.target = "B"
				for range 3 {
					w.now = w.now.Add(100 * time.Second)
					w.busyAt = w.now
					if w.decide(); w.state.UpdatedRevision != "" || w.last.After != 120*time.Second {
						t.Errorf("it has begun: %s, or is not looked at again: %s", w, w.last.After)
					}
				}
				w.settle(t)
			},
			want: []string{"Complete A", "Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 2 of 2, 4 parents", "Complete B"},
		},
		"unready before": {
			reason: "A parent whose children were not ready when the step began need not become so, also after a restart.",
			world:  newWorld(4, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[0]].unready["A"], w.parents[w.lowest()[0]].unready["B"] = true, true
				edit("B")(t, w)
			},
			want: []string{"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 2 of 2, 4 parents", "Complete B"},
		},
		"unready during the pause": {
			reason: "It must be well at the end of the pause, and has its deadline from then on.",
			world:  newWorld(4, number(1, 60)),
			run: func(t *testing.T, w *world) {
				w.spec.ProgressDeadlineSeconds = new(int32(30))
				edit("B")(t, w)
				w.parents[w.lowest()[0]].unready["B"] = true
				w.now = w.now.Add(80 * time.Second)
				w.settle(t)
				w.parents[w.lowest()[0]].unready["B"] = false
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 1 of 2, 1 parents pause",
				"Progressing A->B step 2 of 2, 4 parents", "Complete B",
			},
		},
		"edited in the middle": {
			reason: "The new edit begins anew from the stable revision, and nobody keeps the one before.",
			world:  newWorld(10, number(2, 0), number(4, 60)),
			run:    func(t *testing.T, w *world) { edit("B")(t, w); edit("C")(t, w) },
			want: []string{
				"Progressing A->B step 1 of 3, 2 parents", "Progressing A->B step 2 of 3, 4 parents", "Progressing A->B step 2 of 3, 4 parents pause",
				"Progressing A->C step 1 of 3, 2 parents", "Progressing A->C step 2 of 3, 4 parents", "Progressing A->C step 2 of 3, 4 parents pause",
			},
			by: map[string]int{"A": 6, "C": 4},
		},
		"edited back in the middle": {
			reason: "The stable text is no edit: all parents have it at once.",
			world:  newWorld(10, number(2, 60)),
			run:    func(t *testing.T, w *world) { edit("B")(t, w); edit("A")(t, w) },
			want:   []string{"Progressing A->B step 1 of 2, 2 parents", "Progressing A->B step 1 of 2, 2 parents pause", "Complete A"},
			by:     map[string]int{"A": 10},
		},
		"paused before": {
			reason: "No edit begins.", world: newWorld(10, number(2, 0)),
			run: func(t *testing.T, w *world) {
				w.spec.Paused = new(true)
				edit("B")(t, w)
				w.spec.Paused = nil
				w.settle(t)
			},
			want: []string{"Paused A", "Progressing A->B step 1 of 2, 2 parents", "Progressing A->B step 2 of 2, 10 parents", "Complete B"},
		},
		"paused in the middle": {
			reason: "Every parent stays where it is, also one that fails, and the deadline begins anew afterwards.",
			world:  newWorld(10, number(2, 0)),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[0]].unready["B"] = true
				edit("B")(t, w)
				w.spec.Paused = new(true)
				w.now = w.now.Add(time.Hour)
				edit("C")(t, w)
				edit("B")(t, w)
				w.spec.Paused = nil
				w.settle(t)
				w.parents[w.lowest()[0]].unready["B"] = false
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 2 parents", "Paused A->B step 1 of 2, 2 parents", "Progressing A->B step 1 of 2, 2 parents",
				"Progressing A->B step 2 of 2, 10 parents", "Complete B",
			},
		},
		"steps removed in the middle": {
			reason: "The last step begins, as there are no more.",
			world:  newWorld(10, number(2, 60), number(4, 60)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.spec = nil
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 3, 2 parents", "Progressing A->B step 1 of 3, 2 parents pause",
				"Progressing A->B step 1 of 1, 10 parents", " ",
			},
			by: map[string]int{"B": 10},
		},
		"steps added in the middle": {
			reason: "They follow; nobody loses the edit again.",
			world:  newWorld(10, number(4, 60)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.spec.Steps = []v1alpha1.ScriptRolloutStep{number(1, 0), number(2, 0), number(6, 0)}
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 4 parents", "Progressing A->B step 1 of 2, 4 parents pause",
				"Progressing A->B step 2 of 4, 4 parents", "Progressing A->B step 3 of 4, 6 parents", "Progressing A->B step 4 of 4, 10 parents", "Complete B",
			},
		},
		"steps removed after a rollback": {
			reason: "The failed text is not let loose by that.",
			world:  newWorld(2, number(1, 0)),
			run: func(t *testing.T, w *world) {
				w.parents[w.lowest()[0]].fails["B"] = true
				edit("B")(t, w)
				w.spec = nil
				w.settle(t)
				edit("C")(t, w)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no", " ",
			},
			by: map[string]int{"C": 2},
		},
		"pin": {
			reason: "It serves all at once, whatever the sources hold; without it these are an edit.",
			world:  newWorld(10, number(2, 60)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				w.spec.Revision = "P"
				w.settle(t)
				if w.by("P") != 10 {
					t.Errorf("%d have it", w.by("P"))
				}
				edit("C")(t, w)
				w.spec.Revision = ""
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 2 parents", "Progressing A->B step 1 of 2, 2 parents pause", "Complete P",
				"Progressing P->C step 1 of 2, 2 parents", "Progressing P->C step 1 of 2, 2 parents pause",
			},
		},
		"pin after a rollback": {
			reason: "What failed is not tried again because another revision was pinned in between.",
			world:  newWorld(2, number(1, 0)),
			run: func(t *testing.T, w *world) {
				for _, b := range w.parents {
					b.fails["B"] = true
				}
				edit("B")(t, w)
				w.spec.Revision = "P"
				w.settle(t)
				w.spec.Revision = ""
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no", "Complete P failed B: NAME fails: HookFailed: sync.js:3:9: no",
				"RolledBack P failed B: NAME fails: HookFailed: sync.js:3:9: no",
			},
			by: map[string]int{"P": 2},
		},
		"approved while the sources may change": {
			reason: "An approval counts once they hold the text for sure.",
			world:  newWorld(2, number(1, 0)),
			run: func(t *testing.T, w *world) {
				for _, b := range w.parents {
					b.fails["B"] = true
				}
				edit("B")(t, w)
				w.outdated, w.approved = true, "B"
				w.settle(t)
				for _, b := range w.parents {
					b.fails = nil
				}
				w.outdated = false
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "RolledBack A failed B: NAME fails: HookFailed: sync.js:3:9: no",
				"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 2 of 2, 2 parents", "Complete B",
			},
			by: map[string]int{"B": 2},
		},
		"taken away while the sources do not load": {
			reason: "What the sources held before they were broken does not come back; what is being rolled out goes on.",
			world:  newWorld(4),
			run: func(t *testing.T, w *world) {
				w.target = "B"
				w.settle(t)
				w.spec.Revision = "A"
				w.settle(t)
				w.spec.Revision, w.outdated = "", true
				if w.settle(t); w.by("A") != 4 {
					t.Errorf("%d parents keep the pinned text", w.by("A"))
				}
				w.outdated = false
				edit("C")(t, w)
			},
			want: []string{" ", "Complete A", " "}, by: map[string]int{"C": 4},
		},
		"not archived yet": {
			reason: "No step begins with a text that the next process may not have; what is being rolled out goes on.",
			world:  newWorld(4, number(1, 60)),
			run: func(t *testing.T, w *world) {
				w.unarchived = true
				if edit("B")(t, w); w.by("A") != 4 || !Next(w.input()).Unarchived {
					t.Errorf("%d parents have the previous text, and the state does not say why", w.by("A"))
				}
				w.unarchived = false
				w.settle(t)
				w.unarchived = true
				edit("C")(t, w)
				w.now = w.now.Add(61 * time.Second)
				w.settle(t)
				if w.by("B") != 4 {
					t.Errorf("%d parents have what was rolled out", w.by("B"))
				}
				w.unarchived = false
				w.settle(t)
			},
			want: []string{
				"Complete A", "Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 1 of 2, 1 parents pause", "Progressing A->B step 2 of 2, 4 parents",
				"Complete B", "Progressing B->C step 1 of 2, 1 parents", "Progressing B->C step 1 of 2, 1 parents pause",
			},
		},
		"not archived, and no steps": {
			reason: "It is nothing that could be taken back.", world: newWorld(2),
			run: func(t *testing.T, w *world) { w.unarchived = true; edit("B")(t, w) }, want: []string{" "}, by: map[string]int{"B": 2},
		},
		"pin without steps": {
			reason: "When it is taken away, what the sources hold serves.",
			world:  newWorld(2),
			run: func(t *testing.T, w *world) {
				w.spec.Revision = "P"
				w.settle(t)
				w.spec = nil
				w.settle(t)
			},
			want: []string{"Complete P", " "}, by: map[string]int{"A": 2},
		},
		"parents that come and go": {
			reason: "The bound never shrinks: nobody flips back when others come or go.",
			world:  newWorld(10, number(3, 60)),
			run: func(t *testing.T, w *world) {
				edit("B")(t, w)
				bound := *w.state.Bound
				for i := range 30 {
					w.add(fmt.Sprintf("new%02d", i), "")
				}
				w.sync()
				w.settle(t)
				for _, name := range w.lowest()[:5] {
					delete(w.parents, name)
				}
				w.settle(t)
				if *w.state.Bound != bound {
					t.Errorf("bound %d, was %d", *w.state.Bound, bound)
				}
				w.now = w.now.Add(61 * time.Second)
				w.settle(t)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.run(t, c.world)
			if diff := cmp.Diff(c.want, c.world.named()); c.want != nil && diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
			for revision, want := range c.by {
				if got := c.world.by(revision); got != want {
					t.Errorf("%s\n%d parents of revision %s, want %d", c.reason, got, revision, want)
				}
			}
		})
	}
}

// TestFailedIsRemembered has the stable text in the sources for a while, as when a host starts that has not read the newest one yet: the
// one that was taken back is not tried again, also without steps.
func TestFailedIsRemembered(t *testing.T) {
	state := State{Phase: v1alpha1.ScriptsRolledBack, StableRevision: "A", FailedRevision: "B", Message: "it deletes"}
	for _, c := range []struct{ target, want string }{
		{"A", "Complete A, B has failed: it deletes"}, {"B", "RolledBack A, B has failed: it deletes"},
		{"A", "Complete A, B has failed: it deletes"}, {"C", "Complete ,  has failed: "}, // All parents get the next edit at once.
	} {
		state = Next(Input{State: state, Target: c.target, Now: time.Unix(1e9, 0)}).State
		phase := state.Phase
		if phase == "" {
			phase = v1alpha1.ScriptsComplete
		}
		if got := fmt.Sprintf("%s %s, %s has failed: %s", phase, state.StableRevision, state.FailedRevision, state.Message); got != c.want {
			t.Errorf("with %s: %s, want %s", c.target, got, c.want)
		}
	}
}
