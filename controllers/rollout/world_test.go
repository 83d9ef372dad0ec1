package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// world is a definition, its parents and what a host does with them.
type world struct {
	spec     *v1alpha1.ScriptRollout
	state    State
	target   string
	approved string
	// request is the value of the annotation.
	request string
	// outdated is set while the sources hold another text than target, which does not load.
	outdated bool
	// unarchived is set while target is not archived.
	unarchived bool
	parents    map[string]*box
	now        time.Time
	since      time.Time
	busyAt     time.Time
	last       Result
	// letThrough is the revision that took over in place of a preview, because an annotation named it.
	letThrough string
	// says is what checks come to when they are made, and analysis what they came to last.
	says     AnalysisResult
	analysis Analysis
	// log has each state that was stored.
	log []string
}

// box is a parent.
type box struct {
	labels   map[string]string
	revision string
	// fails has the revisions that it fails with, and unready those with which its children are not ready.
	fails, unready map[string]bool
	// children are how many children it has with each revision, if that is known.
	children map[string]int
	// unknown is set if the present process has not synced it.
	unknown bool
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
	case b.unknown:
		p.Health, p.Revision = Pending, ""
	case b.fails[b.revision]:
		p.Health, p.Message = Failing, "HookFailed: sync.js:3:9: no"
	case b.unready[b.revision]:
		p.Health, p.Message = Unready, "ConfigMap x is not ready"
	}
	if b.children != nil {
		p.Children = func() int { return b.children[b.revision] }
	}
	return p
}

func (w *world) input() Input {
	in := Input{
		Spec: w.spec, State: w.state, Target: w.target, Outdated: w.outdated, Approved: w.approved == w.target, LetThrough: w.letThrough == w.target,
		Request: w.request, Unarchived: w.unarchived, Now: w.now, Since: w.since, BusyAt: w.busyAt,
		Analysis: w.analysis,
	}
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
	changed := !equality.Semantic.DeepEqual(w.state, r.State)
	w.last, w.state = r, r.State
	if changed || len(w.log) == 0 {
		if line := w.String(); len(w.log) == 0 || w.log[len(w.log)-1] != line {
			w.log = append(w.log, line)
		}
	}
	return changed
}

// sync syncs all parents by what is stored.
func (w *world) sync() {
	a := AssignmentOf(w.spec, &w.state)
	for name, b := range w.parents {
		if b.revision, b.unknown = a.RevisionOf(w.parent(name).Member), false; !IsManaged(w.spec, &w.state) {
			b.revision = w.target
		}
	}
}

// analyze makes the checks that are asked for, if they are due, and reports whether it has.
func (w *world) analyze() bool {
	want := w.last.Analyze
	if want.ID == "" {
		w.analysis = Analysis{}
		return false
	}
	if w.analysis.ID == want.ID && !w.analysis.At.Before(want.Since) && w.now.Sub(w.analysis.At) < 5*time.Second {
		return false
	}
	w.analysis = Analysis{ID: want.ID, At: w.now, Result: w.says, Check: "steps[0].analysis[0]", Message: "it is 3"}
	return true
}

// restart makes another process take over, which does not know how parents are before it has synced them.
func (w *world) restart() {
	w.since, w.analysis = w.now, Analysis{}
	for _, b := range w.parents {
		b.unknown = true
	}
}

// settle syncs and decides until nothing changes.
func (w *world) settle(t *testing.T) {
	t.Helper()
	for range 100 {
		if w.sync(); !w.decide() && !w.analyze() {
			return
		}
	}
	t.Fatalf("it never ends:\n%s", strings.Join(w.log, "\n"))
}

// named returns the log without the names of parents, which depend on hashes.
func (w *world) named() []string {
	log := slices.Clone(w.log)
	for i := range log {
		for parent := range w.parents {
			log[i] = strings.ReplaceAll(log[i], parent, "NAME")
		}
	}
	return log
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
	return v1alpha1.ScriptRolloutStep{Parents: new(intstr.FromInt32(int32(n))), PauseSeconds: &pause}
}

func percent(text string) v1alpha1.ScriptRolloutStep {
	return v1alpha1.ScriptRolloutStep{Parents: new(intstr.FromString(text))}
}

func canaries() v1alpha1.ScriptRolloutStep {
	return v1alpha1.ScriptRolloutStep{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "canary"}}}
}

// checked returns a step with a check.
func checked(step v1alpha1.ScriptRolloutStep) v1alpha1.ScriptRolloutStep {
	step.Analysis = []v1alpha1.ScriptAnalysis{{CEL: "size(children) >= before.children"}}
	return step
}

// noCanary returns what is said of the selector of canaries in a step, from 0, if it matches no parent.
func noCanary(step int) string {
	return fmt.Sprintf("no parent has labels that spec.scriptRollout.steps[%d].selector matches: tier=canary", step)
}

// ask asks for something in the step that is stored.
func (w *world) ask(action string) { w.request = w.state.Request(action) }

// lowest returns the parents in the order in which steps take them.
func (w *world) lowest() []string {
	return slices.SortedFunc(maps.Keys(w.parents), func(a, b string) int {
		return int(int64(HashOf(types.UID(a))) - int64(HashOf(types.UID(b))))
	})
}

func edit(target string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		w.target = target
		w.settle(t)
	}
}
