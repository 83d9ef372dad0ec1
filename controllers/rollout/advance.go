package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// last is the number of the step that has all parents.
func (d *decision) last() int { return len(d.Spec.Steps) + 1 }

// begin begins a step.
func (d *decision) begin(step int) {
	s := &d.next
	before := AssignmentOf(d.Spec, &d.State)
	if d.State.UpdatedRevision != s.UpdatedRevision {
		before = Assignment{} // What is stored is about another edit: no parent has this one yet.
	}
	s.Phase, s.Message = v1alpha1.ScriptsProgressing, d.unmatched(step)
	s.Step, s.Steps, s.PausedAt, s.StartedAt = new(int32(step)), new(int32(d.last())), nil, d.stamp()
	// The bound never falls: a parent that has the edit keeps it, even if the spec now says fewer, or parents have been deleted.
	s.Bound = new(max(ptr.Deref(s.Bound, 0), d.bound(step)))
	s.UnreadyParents = d.remembered(s.UnreadyParents, Unready, before)
	s.FailingParents = d.remembered(s.FailingParents, Failing, before)
	s.ChildrenBefore = d.childrenBefore(step, s.ChildrenBefore)
	d.count(d.members())
}

// stamp returns the time as it is stored, in whole seconds, and never too early: pauses would be too short.
func (d *decision) stamp() *metav1.Time {
	return new(metav1.NewTime(d.Now.Add(time.Second - 1).Truncate(time.Second)))
}

// maxRemembered is how many parents are remembered that were not ready, or failed, when their step began.
const maxRemembered = 500

// remembered returns known with the hashes of the parents that this step has first, and whose health is so with the stable revision. That
// survives a restart, and what an edit makes of a parent does not count as what it was before.
func (d *decision) remembered(known []int64, health Health, before Assignment) []int64 {
	after := AssignmentOf(d.Spec, &d.next)
	known = slices.Clone(known)
	for _, p := range d.Parents {
		if p.Health == health && p.Revision == d.next.StableRevision && after.HasUpdated(p.Member) && !before.HasUpdated(p.Member) {
			known = append(known, int64(p.Hash))
		}
	}
	slices.Sort(known) // So that the stored list does not depend on the order of the parents, and costs no write when that changes.
	known = slices.Compact(known)
	return known[:min(len(known), maxRemembered)]
}

// bound returns the bound of the hashes of a step. The parents that selectors choose, in this step and those before it, count towards the
// share of the step: hashes only add what is missing. It is one above the highest of these hashes, so that a parent that is created later
// falls on one side by its own hash, and none changes sides because of it.
func (d *decision) bound(step int) int64 {
	if step >= d.last() {
		return All
	}
	share := d.Spec.Steps[step-1].Parents
	if share == nil {
		return 0
	}
	want := countOf(*share, len(d.Parents))
	selected := Assignment{Updated: d.next.UpdatedRevision, selectors: selectorsOf(d.Spec.Steps[:step])}
	var others []int64
	for _, p := range d.Parents {
		if selected.HasUpdated(p.Member) {
			want--
		} else {
			others = append(others, int64(p.Hash))
		}
	}
	slices.Sort(others)
	switch {
	case want <= 0:
		return 0
	case want >= len(others):
		return All
	}
	return others[want-1] + 1
}

// members returns the parents that have the edit.
func (d *decision) members() []Parent {
	assignment := AssignmentOf(d.Spec, &d.next)
	var members []Parent
	for _, p := range d.Parents {
		if assignment.HasUpdated(p.Member) {
			members = append(members, p)
		}
	}
	slices.SortFunc(members, func(a, b Parent) int { return strings.Compare(a.Name, b.Name) })
	return members
}

// count sets the numbers of parents.
func (d *decision) count(members []Parent) {
	if d.next.UpdatedRevision == "" {
		return
	}
	updated := int32(0)
	for _, p := range members {
		if p.Revision == d.next.UpdatedRevision {
			updated++
		}
	}
	d.next.Parents, d.next.UpdatedParents = new(int32(len(members))), &updated
}

// advance goes on with the present step, or ends it.
func (d *decision) advance() {
	s := &d.next
	step := min(max(int(ptr.Deref(s.Step, 1)), 1), d.last())
	if step == d.last() && ptr.Deref(s.Bound, 0) < All {
		d.begin(step) // The steps between have been removed.
		return
	}
	if s.Phase == v1alpha1.ScriptsPaused { // The deadline begins anew: nothing could go on while the rollout was paused.
		s.Phase, s.StartedAt = v1alpha1.ScriptsProgressing, d.stamp()
	}
	s.Step, s.Steps = new(int32(step)), new(int32(d.last()))
	members := d.members()
	d.count(members)
	failing, waiting := d.assess(members)
	unmatched := d.unmatched(step)
	if s.Phase == v1alpha1.ScriptsProgressing {
		s.Message = unmatched
	}
	analysis, result := AnalysisPassed, ""
	if failing == nil && waiting == "" && unmatched == "" {
		analysis, result = d.analysis(step, len(members))
	}
	// The order matters. A failing parent outweighs a request, so that an edit is not promoted in the moment in which it fails. A request
	// outweighs all waiting, as it is the way out of a wait without end. An analysis comes last: it is about parents that are well.
	switch {
	case failing != nil:
		d.fail(fmt.Sprintf("%s fails: %s", failing.Name, failing.Message))
	case s.Phase != v1alpha1.ScriptsHeld && d.isAsked(v1alpha1.PromoteFullRequest): // What is held is approved.
		d.complete(s.UpdatedRevision)
	case s.Phase != v1alpha1.ScriptsHeld && d.isAsked(v1alpha1.PromoteRequest):
		d.proceed(step)
	case waiting != "":
		d.wait(step, waiting)
	case unmatched != "":
		s.Phase, s.Message = v1alpha1.ScriptsProgressing, unmatched
	case analysis == AnalysisFailed:
		d.failAnalysis(result)
	// A check that can't be made during the pause is only reported, and may be made until the pause ends. Before and after it counts
	// against the deadline.
	case analysis == AnalysisUnknown && (s.PausedAt == nil || s.Phase == v1alpha1.ScriptsHeld || d.pauseLeft(step, len(members)) <= 0):
		d.wait(step, result)
	case d.pauseLeft(step, len(members)) > 0:
		if s.PausedAt == nil {
			s.PausedAt = d.stamp()
		}
		if analysis == AnalysisUnknown {
			d.result.Waiting, d.result.Since = result, s.PausedAt.Time
		}
		d.result.Lost = d.lost(members)
		s.Phase, s.Message, d.result.After = v1alpha1.ScriptsProgressing, "", d.pauseLeft(step, len(members))
	case step < d.last() && d.isStarting():
	default:
		d.proceed(step)
	}
}

// proceed goes on to the step after this one.
func (d *decision) proceed(step int) {
	if step < d.last() {
		d.begin(step + 1)
		return
	}
	d.complete(d.next.UpdatedRevision)
}

// unmatched returns why a step goes no further although nothing is wrong with the edit, or empty: its selector matches no parent. If there
// are no parents, there is nobody to try it on.
func (d *decision) unmatched(step int) string {
	if step >= d.last() || len(d.Parents) == 0 {
		return ""
	}
	selectors := selectorsOf(d.Spec.Steps[step-1 : step])
	selected := Assignment{Updated: d.next.UpdatedRevision, selectors: selectors}
	if len(selectors) == 0 || slices.ContainsFunc(d.Parents, func(p Parent) bool { return selected.HasUpdated(p.Member) }) {
		return ""
	}
	return fmt.Sprintf("no parent has labels that spec.scriptRollout.steps[%d].selector matches: %s", step-1, selectors[0])
}

// assess returns the first parent that fails because of the edit, or which one the step waits for and why, or neither. A parent whose
// children are not ready is reported rather than one that is to be synced soon.
func (d *decision) assess(members []Parent) (failing *Parent, waiting string) {
	worst := Pending
	for i, p := range members {
		why := p.Message
		switch {
		case p.Revision != d.next.UpdatedRevision: // Its health is that of another revision, and says nothing about the edit.
			p.Health, why = Pending, "has not been synced by it"
		// What was so before the edit is not the edit's fault, and must neither fail nor stop it: it may be what corrects that.
		case p.Health == Well,
			p.Health == Unready && slices.Contains(d.next.UnreadyParents, int64(p.Hash)),
			p.Health == Failing && slices.Contains(d.next.FailingParents, int64(p.Hash)):
			continue
		case p.Health == Failing:
			return &members[i], ""
		}
		if waiting == "" || p.Health == Unready && worst != Unready {
			worst, waiting = p.Health, fmt.Sprintf("%s: %s", p.Name, why)
		}
	}
	return nil, waiting
}

// pauseLeft returns what is left of the pause of a step that goes well. If there are no parents, it has none.
func (d *decision) pauseLeft(step, members int) time.Duration {
	if step >= d.last() || members == 0 {
		return 0
	}
	pause := time.Duration(ptr.Deref(d.Spec.Steps[step-1].PauseSeconds, 0)) * time.Second
	if pause == 0 || d.next.PausedAt == nil {
		return pause
	}
	return d.pauseEnd(step).Sub(d.Now)
}

// pauseEnd returns when the pause of a step ends that has begun.
func (d *decision) pauseEnd(step int) time.Time {
	return d.next.PausedAt.Add(time.Duration(ptr.Deref(d.Spec.Steps[step-1].PauseSeconds, 0)) * time.Second)
}

// DefaultProgressDeadline is how long a step may take to go well.
const DefaultProgressDeadline = 600

// busyFor is how long the status says that the host has no script worker: a sync waits for one for half a minute, and is tried again a
// second later.
const busyFor = time.Minute

// wait waits until the step goes well, or its deadline. The time for the deadline begins with the last of what the step could not do
// before: it began, its pause ended, this process began to sync parents, and the host had a worker again.
func (d *decision) wait(step int, why string) {
	s := &d.next
	since := d.Now
	if s.StartedAt != nil {
		since = s.StartedAt.Time
	}
	if s.PausedAt != nil && step < d.last() { // It went well before its pause.
		since = d.pauseEnd(step)
	}
	since = later(since, d.Since)
	deadline := later(since, d.BusyAt).Add(d.deadline())
	busy := d.BusyAt.Add(busyFor).Sub(d.Now)
	switch {
	case !d.Now.Before(deadline):
		d.fail(fmt.Sprintf("step %d has not gone well within %.0f seconds: %s", step, d.deadline().Seconds(), why))
	case s.Phase == v1alpha1.ScriptsHeld:
	case busy > 0:
		d.result.Waiting = why + "; the host has no free script worker, and that time does not count for the deadline"
		d.result.Since, d.result.After = since, min(busy, deadline.Sub(d.Now))
	default:
		d.result.Waiting, d.result.Since, d.result.Deadline, d.result.After = why, since, deadline, deadline.Sub(d.Now)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// deadline returns how long a step may take to go well.
func (d *decision) deadline() time.Duration {
	return time.Duration(ptr.Deref(d.Spec.ProgressDeadlineSeconds, DefaultProgressDeadline)) * time.Second
}
