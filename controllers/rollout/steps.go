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

// State is what the status of a definition says of a rollout.
type State = v1alpha1.ScriptRolloutStatus

// Health is how a parent is since it was synced last.
type Health int

const (
	// Pending means that it is not known: the parent has not been synced since the start of the process.
	Pending Health = iota
	// Well means that its last sync succeeded and wrote no child, and that its children are as they are to be.
	Well
	// Moving means that its children are being written, or that its last sync failed with what may pass.
	Moving
	// Unready means that a child of it is not ready.
	Unready
	// Failing means that its last sync failed, and that it would not with the stable revision.
	Failing
)

// Parent is a parent of the definition.
type Parent struct {
	Member
	// Name is its kind, namespace and name, for messages.
	Name string
	// Revision is the ID of the revision that it was synced by last, or empty.
	Revision string
	Health   Health
	// Message is why it is not well. For a parent that fails it has the reason, and the place in the script.
	Message string
	// Children returns how many children it has that are not being deleted. It may be nil if that is not known.
	Children func() int
}

// Input is what is known when the next state is decided.
type Input struct {
	// Spec says how an edit is rolled out. It may be nil.
	Spec *v1alpha1.ScriptRollout
	// State is the stored one. Its StableRevision is what serves, or empty if nothing has served yet.
	State State
	// Target is the revision of the sources that loads and that no preview holds, or empty if there is none.
	Target string
	// TargetEdit is what Target stands for if that is an edit of the definition, and TargetSpec and UpdatedSpec are the specs of Target and of
	// the updated revision. The latter is nil if it can't be had any more.
	TargetEdit              *v1alpha1.GuardedEdit
	TargetSpec, UpdatedSpec *v1alpha1.StableSpec
	// Outdated is set if the sources hold another text than Target by now, which does not load or is held, or may do so in a moment.
	Outdated bool
	// Unarchived is set if Target or the stable revision is not archived yet: no step begins with Target, as the next process might have only one
	// of them.
	Unarchived bool
	// Approved is set if an annotation names Target, and LetThrough if its preview let it take over because of one.
	Approved, LetThrough bool
	// Request is the value of v1alpha1.RolloutRequestAnnotation, or empty.
	Request string
	// Pinned is the whole ID of the revision that the spec pins, once it can be had.
	Pinned string
	// Exceeded is what passes of a revision have been kept from, or empty.
	Exceeded Exceeded
	// Parents are all there are.
	Parents []Parent
	// Analysis is what the checks of the present step said last, since when Result.Analyze has asked for them.
	Analysis Analysis
	Now      time.Time
	// Since is when this process began to sync parents, and BusyAt when it last had no script worker for the sync of a parent, or zero: what
	// was not done before does not count for the deadline.
	Since, BusyAt time.Time
}

// Exceeded is a revision that was about to delete more than its limits allow.
type Exceeded struct {
	Revision string
	// Before is the revision that served before it.
	Before string
	// Message says how much it would have deleted.
	Message string
}

// Result is what comes next.
type Result struct {
	// State is to be stored. The rollout is where it was until it is.
	State State
	// After is when to decide again even if nothing happens, or zero.
	After time.Duration
	// Waiting is the parent that the rollout waits for, and why, or empty. It has waited since Since, and the edit counts as failed at Deadline,
	// unless that is zero.
	Waiting         string
	Since, Deadline time.Time
	// Unarchived is set if Target waits for the archive.
	Unarchived bool
	// Analyze asks for the checks of the step, once State is stored.
	Analyze AnalysisRequest
	// Lost is which parents of a step in its pause have fewer children than before, or empty.
	Lost string
}

// IsManaged reports whether a rollout decides what serves. Otherwise the newest revision that loads does.
func IsManaged(spec *v1alpha1.ScriptRollout, stored *State) bool {
	return spec != nil && (len(spec.Steps) > 0 || spec.Revision != "" || ptr.Deref(spec.Paused, false)) || stored != nil && stored.StableRevision != ""
}

// Next returns the state after the one that is stored.
func Next(in Input) Result {
	d := &decision{Input: in, next: *in.State.DeepCopy()}
	if d.Spec == nil {
		d.Spec = &v1alpha1.ScriptRollout{}
	}
	d.clampTimes()
	d.approval()
	d.decide()
	d.noteSpec()
	d.result.State = d.next
	return d.result
}

// decision is one call of Next.
type decision struct {
	Input
	next   State
	result Result
	// approvedNow is set if the approval is newer than what it lets through.
	approvedNow bool
}

// clampTimes takes back times of a clock that was ahead: a pause or a deadline would last longer by as much.
func (d *decision) clampTimes() {
	latest := d.stamp()
	for _, at := range []*metav1.Time{d.next.StartedAt, d.next.PausedAt} {
		if at != nil && at.After(latest.Time) {
			*at = *latest
		}
	}
}

// isAsked reports whether the annotation asks for an action in the step that is stored.
func (d *decision) isAsked(action string) bool {
	return d.State.UpdatedRevision != "" && d.Request == d.State.Request(action)
}

// approval finds out whether Target has been approved since it failed. An annotation that was there when it failed, or that has let it through
// already, is in ApprovedRevision, and says nothing more. One that is taken away and put there again does.
func (d *decision) approval() {
	s := &d.next
	failed := d.Target == s.FailedRevision || s.Phase == v1alpha1.ScriptsHeld && d.Target == s.UpdatedRevision
	switch {
	case d.Target == "":
	case !failed && d.LetThrough:
		s.ApprovedRevision = d.Target
	case failed && !d.Approved && s.ApprovedRevision == d.Target:
		s.ApprovedRevision = ""
	default:
		d.approvedNow = failed && d.Approved && s.ApprovedRevision != d.Target
	}
}

func (d *decision) decide() {
	s := &d.next
	switch over := d.Exceeded.Revision; {
	case over != "" && (over == s.UpdatedRevision || over == d.Pinned || over == d.Target && d.Spec.Revision == "" && s.FailedRevision != over):
		d.undoExceeded()
	case d.Spec.Revision != "":
		if failed, why := d.failure(); d.Pinned != "" {
			if d.complete(d.Pinned); d.Pinned != failed { // A pin is no edit that takes the place of the one that failed.
				s.FailedRevision, s.Message = failed, why
			}
		}
	case d.isAsked(v1alpha1.AbortRequest):
		d.spendApproval()
		d.takeBack("it was aborted")
	case s.UpdatedEdit != nil && d.UpdatedSpec == nil:
		d.takeBack("the host was restarted, and the definition has another spec by now")
	case d.Target == "":
	case s.StableRevision == "":
		d.complete(d.Target)
	case d.isPaused():
		d.pause()
	case d.Target == s.StableRevision:
		d.complete(d.Target)
	case d.Target == s.FailedRevision && s.UpdatedRevision == "" && !d.approvedNow:
		if s.Phase = v1alpha1.ScriptsRolledBack; s.Message == "" {
			s.Message = "it was taken back before, and no other edit has taken its place"
		}
	case d.Target != s.UpdatedRevision && d.Outdated: // No text comes back that the sources do not hold any more.
	case d.Target != s.UpdatedRevision && d.Unarchived && len(d.Spec.Steps) > 0:
		d.result.Unarchived = true
		if s.UpdatedRevision != "" {
			d.advance()
		}
	case d.Target != s.UpdatedRevision:
		d.start()
	case s.Phase == v1alpha1.ScriptsHeld && d.approvedNow:
		s.ApprovedRevision = d.Target
		d.complete(d.Target)
	default:
		d.advance()
	}
}

// undoExceeded lets the revision serve again that did before one that would delete too much.
func (d *decision) undoExceeded() {
	s, over := &d.next, d.Exceeded
	if over.Revision == s.UpdatedRevision {
		d.fail(over.Message)
		return
	}
	d.endSteps()
	s.StableRevision, s.Message = over.Before, over.Message
	if over.Revision == d.Pinned {
		s.Phase = v1alpha1.ScriptsHeld
		return
	}
	s.Phase, s.FailedRevision = v1alpha1.ScriptsRolledBack, over.Revision
}

// noteSpec notes the spec of what has come to serve all parents. An edit of the definition is then named as the scripts are that it came
// with.
func (d *decision) noteSpec() {
	s := &d.next
	edit := d.State.UpdatedEdit
	switch s.StableRevision {
	case "":
		s.StableSpec = nil
		return
	case d.State.StableRevision:
		return
	case d.Target:
		edit, s.StableSpec = d.TargetEdit, d.TargetSpec
	case d.State.UpdatedRevision:
		if edit != nil {
			s.StableSpec = d.UpdatedSpec
		}
	default:
		return
	}
	if edit != nil {
		s.StableRevision = Edit(*edit).Name()
	}
}

func (d *decision) isPaused() bool { return ptr.Deref(d.Spec.Paused, false) }

// pause keeps everything as it is. What is held goes no further anyhow, and waits for an approval.
func (d *decision) pause() {
	s := &d.next
	if s.UpdatedRevision == "" && (d.Target == s.StableRevision || d.Target == s.FailedRevision) {
		return
	}
	if s.UpdatedRevision == "" || s.Phase != v1alpha1.ScriptsHeld {
		s.Phase = v1alpha1.ScriptsPaused
	}
	d.count(d.members())
}

// failure returns the revision that has been taken back, and why.
func (d *decision) failure() (revision, why string) {
	if d.next.UpdatedRevision == "" { // Otherwise it is about another edit.
		why = d.next.Message
	}
	return d.next.FailedRevision, why
}

// complete makes one revision serve all parents.
func (d *decision) complete(revision string) {
	failed, why := d.failure()
	if revision != d.next.StableRevision || failed == "" { // What failed before may be tried again.
		failed, why = "", ""
	}
	d.endSteps()
	d.next.StableRevision, d.next.Phase, d.next.FailedRevision, d.next.Message = revision, v1alpha1.ScriptsComplete, failed, why
	if len(d.Spec.Steps) == 0 && d.Spec.Revision == "" && !d.isPaused() && revision == d.Target && failed == "" { // All get the next edit at once.
		d.next.StableRevision, d.next.Phase = "", ""
	}
}

func (d *decision) endSteps() {
	s := &d.next
	s.UpdatedRevision, s.UpdatedEdit, s.Step, s.Steps, s.Bound, s.StartedAt, s.PausedAt = "", nil, nil, nil, nil, nil, nil
	s.UpdatedParents, s.Parents, s.UnreadyParents, s.FailingParents, s.ChildrenBefore = nil, nil, nil, nil, nil
}

// start begins with the first step of Target, from the stable revision.
func (d *decision) start() {
	s := &d.next
	if len(d.Spec.Steps) == 0 || len(d.Parents) == 0 {
		d.endSteps()
		d.complete(d.Target)
		return
	}
	if d.isStarting() {
		return
	}
	unready, failing, children := s.UnreadyParents, s.FailingParents, s.ChildrenBefore // Of an edit whose place this one takes.
	d.endSteps()
	s.UpdatedRevision, s.UpdatedEdit, s.UnreadyParents, s.FailingParents, s.ChildrenBefore = d.Target, d.TargetEdit, unready, failing, children
	if s.FailedRevision == d.Target {
		s.FailedRevision = ""
	}
	if d.approvedNow {
		s.ApprovedRevision = d.Target
	}
	d.begin(1)
}

// isStarting reports whether the process has just started, and has not synced all parents yet. No step begins before: it would not be known how
// they were without the edit. That lasts for the deadline of a step at most, as parents come all the time.
func (d *decision) isStarting() bool {
	until := later(d.Since, d.BusyAt).Add(d.deadline())
	at := slices.IndexFunc(d.Parents, func(p Parent) bool { return p.Health == Pending })
	if at < 0 || !d.Now.Before(until) {
		return false
	}
	d.result.Waiting, d.result.Since = d.Parents[at].Name+": has not been synced since the host started", d.Since
	d.result.After = until.Sub(d.Now)
	return true
}

// last is the number of the step that has all parents.
func (d *decision) last() int { return len(d.Spec.Steps) + 1 }

// begin begins a step.
func (d *decision) begin(step int) {
	s := &d.next
	before := AssignmentOf(d.Spec, &d.State)
	if d.State.UpdatedRevision != s.UpdatedRevision {
		before = Assignment{}
	}
	s.Phase, s.Message = v1alpha1.ScriptsProgressing, d.unmatched(step)
	s.Step, s.Steps, s.PausedAt, s.StartedAt = ptr.To(int32(step)), ptr.To(int32(d.last())), nil, d.stamp()
	s.Bound = ptr.To(max(ptr.Deref(s.Bound, 0), d.bound(step)))
	s.UnreadyParents = d.remembered(s.UnreadyParents, Unready, before)
	s.FailingParents = d.remembered(s.FailingParents, Failing, before)
	s.ChildrenBefore = d.childrenBefore(step, s.ChildrenBefore)
	d.count(d.members())
}

// stamp returns the time as it is stored, in whole seconds, and never too early: pauses would be too short.
func (d *decision) stamp() *metav1.Time {
	return ptr.To(metav1.NewTime(d.Now.Add(time.Second - 1).Truncate(time.Second)))
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
	slices.Sort(known)
	known = slices.Compact(known)
	return known[:min(len(known), maxRemembered)]
}

// bound returns the bound of the hashes of a step.
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
	d.next.Parents, d.next.UpdatedParents = ptr.To(int32(len(members))), &updated
}

// advance goes on with the present step, or ends it.
func (d *decision) advance() {
	s := &d.next
	step := min(max(int(ptr.Deref(s.Step, 1)), 1), d.last())
	if step == d.last() && ptr.Deref(s.Bound, 0) < All {
		d.begin(step) // The steps between have been removed.
		return
	}
	if s.Phase == v1alpha1.ScriptsPaused {
		s.Phase, s.StartedAt = v1alpha1.ScriptsProgressing, d.stamp()
	}
	s.Step, s.Steps = ptr.To(int32(step)), ptr.To(int32(d.last()))
	members := d.members()
	d.count(members)
	failing, waiting := d.assess(members)
	unmatched := d.unmatched(step)
	if s.Phase == v1alpha1.ScriptsProgressing {
		s.Message = unmatched
	}
	analysis, result := AnalysisHolds, ""
	if failing == nil && waiting == "" && unmatched == "" {
		analysis, result = d.analysis(step, len(members))
	}
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
	case analysis == AnalysisFails:
		d.failAnalysis(result)
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

// unmatched returns why a step goes no further although nothing is wrong with the edit, or empty: its selector matches no parent. If there are
// no parents, there is nobody to try it on.
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

// assess returns the first parent that fails because of the edit, or which one the step waits for and why, or neither. A parent whose children
// are not ready is told rather than one that is to be synced soon.
func (d *decision) assess(members []Parent) (failing *Parent, waiting string) {
	told := Pending
	for i, p := range members {
		why := p.Message
		switch {
		case p.Revision != d.next.UpdatedRevision:
			p.Health, why = Pending, "has not been synced by it"
		case p.Health == Well,
			p.Health == Unready && slices.Contains(d.next.UnreadyParents, int64(p.Hash)),
			p.Health == Failing && slices.Contains(d.next.FailingParents, int64(p.Hash)):
			continue
		case p.Health == Failing:
			return &members[i], ""
		}
		if waiting == "" || p.Health == Unready && told != Unready {
			told, waiting = p.Health, fmt.Sprintf("%s: %s", p.Name, why)
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

// busyFor is how long it is told that the host has no script worker: a sync waits for one for half a minute, and is tried again a second
// later.
const busyFor = time.Minute

// wait waits until the step goes well, or its deadline.
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

// fail does what the failure policy says.
func (d *decision) fail(why string) {
	d.spendApproval()
	if d.Spec.FailurePolicy == v1alpha1.HoldScripts {
		d.next.Phase, d.next.Message = v1alpha1.ScriptsHeld, why
		return
	}
	d.takeBack(why)
}

// spendApproval notes that an approval is older than the failure.
func (d *decision) spendApproval() {
	s := &d.next
	switch {
	case d.Approved && d.Target == s.UpdatedRevision:
		s.ApprovedRevision = s.UpdatedRevision
	case s.ApprovedRevision == s.UpdatedRevision:
		s.ApprovedRevision = ""
	}
}

// takeBack makes the stable revision serve all parents.
func (d *decision) takeBack(why string) {
	s := &d.next
	failed := s.UpdatedRevision
	d.endSteps()
	s.Phase, s.FailedRevision, s.Message = v1alpha1.ScriptsRolledBack, failed, why
}
