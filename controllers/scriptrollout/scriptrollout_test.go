package scriptrollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// world is a definition, its parents and what a host does with them.
type world struct {
	spec     *v1alpha1.ScriptRollout
	state    State
	target   string
	approved string
	parents  map[string]*box
	now      time.Time
	after    time.Duration
	// log has each state that was stored.
	log []string
}

// box is a parent.
type box struct {
	labels   map[string]string
	revision string
	// fails has the revisions that it fails with, and unready those with which its children are not ready.
	fails, unready map[string]bool
}

func newWorld(parents int, steps ...v1alpha1.ScriptRolloutStep) *world {
	w := &world{
		spec: &v1alpha1.ScriptRollout{Steps: steps}, state: State{StableRevision: "A", Phase: v1alpha1.ScriptsComplete},
		target: "A", parents: map[string]*box{}, now: time.Unix(1000, 0),
	}
	for i := range parents {
		w.add(fmt.Sprintf("b%02d", i), "A")
	}
	return w
}

func (w *world) add(name, revision string) {
	w.parents[name] = &box{labels: map[string]string{}, revision: revision, fails: map[string]bool{}, unready: map[string]bool{}}
}

func (w *world) parent(name string) Parent {
	b := w.parents[name]
	p := Parent{Name: name, Member: Member{HashOf(types.UID(name)), b.labels}, Revision: b.revision, Health: Well}
	switch {
	case b.fails[b.revision]:
		p.Health, p.Message = Failing, "HookFailed: sync.js:3:9: no"
	case b.unready[b.revision]:
		p.Health, p.Message = Unready, "ConfigMap x is not ready"
	}
	return p
}

func (w *world) input() Input {
	in := Input{Spec: w.spec, State: w.state, Target: w.target, Approved: w.approved == w.target, Now: w.now}
	if w.spec != nil {
		in.Pinned = w.spec.Revision
	}
	for _, name := range slices.Sorted(maps.Keys(w.parents)) {
		in.Parents = append(in.Parents, w.parent(name))
	}
	return in
}

// decide stores the next state, and reports whether it is another.
func (w *world) decide() bool {
	r := Next(w.input())
	w.after = r.After
	changed := !cmp.Equal(w.state, r.State)
	w.state = r.State
	if line := w.String(); len(w.log) == 0 || w.log[len(w.log)-1] != line {
		w.log = append(w.log, line)
	}
	return changed
}

// sync syncs all parents by what is stored.
func (w *world) sync() {
	a := AssignmentOf(w.spec, &w.state)
	for name, b := range w.parents {
		if b.revision = a.RevisionOf(w.parent(name).Member); !IsManaged(w.spec, &w.state) {
			b.revision = w.target
		}
	}
}

// settle decides and syncs until nothing changes.
func (w *world) settle(t *testing.T) {
	t.Helper()
	for range 100 {
		changed := w.decide()
		if w.sync(); !changed {
			return
		}
	}
	t.Fatalf("it never ends:\n%s", strings.Join(w.log, "\n"))
}

func (w *world) by(revision string) int {
	count := 0
	for _, b := range w.parents {
		if b.revision == revision {
			count++
		}
	}
	return count
}

// String returns the state without times and bounds.
func (w *world) String() string {
	s := w.state
	text := fmt.Sprintf("%s %s", s.Phase, s.StableRevision)
	if s.UpdatedRevision != "" {
		text += fmt.Sprintf("->%s step %d of %d, %d parents", s.UpdatedRevision, *s.Step, *s.Steps, *s.Parents)
	}
	if s.FailedRevision != "" {
		text += " failed " + s.FailedRevision
	}
	if s.PausedAt != nil {
		text += " pause"
	}
	if s.Message != "" {
		text += ": " + s.Message
	}
	return text
}

func number(n int, pause int32) v1alpha1.ScriptRolloutStep {
	return v1alpha1.ScriptRolloutStep{Parents: ptr.To(intstr.FromInt32(int32(n))), PauseSeconds: &pause}
}

func percent(text string) v1alpha1.ScriptRolloutStep {
	return v1alpha1.ScriptRolloutStep{Parents: ptr.To(intstr.FromString(text))}
}

func canaries() v1alpha1.ScriptRolloutStep {
	return v1alpha1.ScriptRolloutStep{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "canary"}}}
}

// lowest returns the parents in the order in which steps take them.
func (w *world) lowest() []string {
	return slices.SortedFunc(maps.Keys(w.parents), func(a, b string) int {
		return int(int64(HashOf(types.UID(a))) - int64(HashOf(types.UID(b))))
	})
}

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
				if w.after < 60*time.Second {
					t.Errorf("it looks again after %s", w.after)
				}
				w.now = w.now.Add(60 * time.Second)
				w.settle(t)
				w.now = w.now.Add(w.after)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents", "Progressing A->B step 1 of 2, 1 parents pause",
				"Progressing A->B step 2 of 2, 4 parents", "Complete B",
			},
		},
		"nobody in a step": {
			reason: "A step that no parent is in has no pause.",
			world:  newWorld(2, v1alpha1.ScriptRolloutStep{Selector: canaries().Selector, PauseSeconds: ptr.To(int32(60))}), run: edit("B"),
			want: []string{"Progressing A->B step 1 of 2, 0 parents", "Progressing A->B step 2 of 2, 2 parents", "Complete B"},
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
				"Complete A failed B", "RolledBack A failed B: it was taken back before, and no other edit has taken its place",
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
				w.spec.ProgressDeadlineSeconds = ptr.To(int32(30))
				w.parents[w.lowest()[0]].unready["B"] = true
				edit("B")(t, w)
				w.now = w.now.Add(w.after)
				w.settle(t)
			},
			want: []string{
				"Progressing A->B step 1 of 2, 1 parents",
				"RolledBack A failed B: step 1 has not gone well within 30 seconds: NAME: ConfigMap x is not ready",
			},
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
				w.spec.ProgressDeadlineSeconds = ptr.To(int32(30))
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
				w.spec.Paused = ptr.To(true)
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
				w.spec.Paused = ptr.To(true)
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
			log := slices.Clone(c.world.log)
			for i := range log { // Which parent it is depends on hashes.
				for parent := range c.world.parents {
					log[i] = strings.ReplaceAll(log[i], parent, "NAME")
				}
			}
			if diff := cmp.Diff(c.want, log); c.want != nil && diff != "" {
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

func edit(target string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		w.target = target
		w.settle(t)
	}
}
