package rollout

import (
	"slices"
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
	// Unarchived is set if Target or the stable revision is not archived yet: no step begins with Target, as the next process might have only
	// one of them.
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
	// Waiting is the parent that the rollout waits for, and why, or empty. It has waited since Since, and the edit counts as failed at
	// Deadline, unless that is zero.
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
	return spec != nil && (len(spec.Steps) > 0 || spec.Revision != "" || ptr.Deref(spec.Paused, false)) ||
		stored != nil && stored.StableRevision != ""
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

// approval finds out whether Target has been approved since it failed. An annotation that was there when it failed, or that has let it
// through already, is in ApprovedRevision, and says nothing more. One that is taken away and put there again does.
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
	case over != "" && (over == s.UpdatedRevision || over == d.Pinned ||
		over == d.Target && d.Spec.Revision == "" && s.FailedRevision != over):
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
	// All get the next edit at once.
	if len(d.Spec.Steps) == 0 && d.Spec.Revision == "" && !d.isPaused() && revision == d.Target && failed == "" {
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

// isStarting reports whether the process has just started, and has not synced all parents yet. No step begins before: it would not be known
// how they were without the edit. That lasts for the deadline of a step at most, as parents come all the time.
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
