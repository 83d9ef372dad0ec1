package definition

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
	"github.com/libretto-k8s/libretto/scripts"
)

// statusView is what the status and the events of a definition report.
type statusView struct {
	conditions []metav1.Condition
	running    runningView
	newest     newestView
	hold       holdView
	warnings   []plan.Warning
	// stableSpec is the spec that serves if that is not the newest one, or nil.
	stableSpec *v1alpha1.StableSpec
	rollout    rollout.Progress
	// edit is the condition Stalled or Reconciling, or neither.
	edit      metav1.Condition
	approvals []rollout.Approval // the annotations that approve a revision
	mistaken  []mistake          // those of approvals that approve nothing
}

// runningView is how the instance is that syncs parents.
type runningView struct {
	revision     scripts.RevisionID
	idle         bool // nothing runs, so that the status keeps the last revision
	parents      status.Parents
	openCircuits string // why hooks are not called for a while, or ""
	hotLoops     string // that go on, or ""
}

// newestView is how the instance of the newest spec is.
type newestView struct {
	state     scripts.State
	noScripts bool
	// id is what an approval names that lets the edit take over that state is about, or empty.
	id      scripts.RevisionID
	objects []scripts.Object // the sources of its scripts that are objects
	// credentials describes the problems with its credentials.
	credentials string
}

// holdView is what holds an edit.
type holdView struct {
	// why is why the newest edit does not take over although its scripts load, or "".
	why string
	// guard is the ID of an edit that serves and is held by the guard, or empty.
	guard string
}

// lastEvents is the content of the last events.
type lastEvents struct {
	// notFoundSince is since when a resource of the spec has not been served, or zero.
	notFoundSince                                                time.Time
	accepted, problems, credentials, openCircuits, held, rollout string
	forbidden                                                    string
	revision                                                     scripts.RevisionID
	warnings                                                     []plan.Warning
	// versions are those of the scripts' ConfigMaps, so that only changed ones get an event
	// about a new revision.
	versions map[types.UID]string
}

// newStatusView collects the state of the running and the next instance. warnings are those about the definition's annotations.
func (r *Reconciler) newStatusView(s *runtimeState, progress rollout.Progress, refusal *plan.Refusal, warnings []plan.Warning) statusView {
	v := statusView{running: runningView{idle: s.running == nil}}
	newest := s.latest()
	if newest != nil && newest.hooks.Tree != nil {
		v.newest.state, v.newest.objects = newest.hooks.Tree.State(), newest.hooks.Tree.Objects()
	}
	if newest != nil {
		if v.newest.noScripts = newest.hooks.Tree == nil; v.newest.noScripts {
			v.newest.state = newest.hooks.WebhookPreview.State()
		}
		v.newest.credentials = newest.hooks.CredentialProblems()
	}
	if s.running != nil {
		v.running.revision, v.running.openCircuits = s.running.hooks.Revision(), s.running.hooks.OpenCircuits()
		v.running.hotLoops = s.running.hotLoops()
		v.warnings = slices.Concat(s.warnings(), r.planner.RelatedWarnings(s.running.plan), warnings)
	}
	v.newest.id, v.stableSpec = newest.editID(v.newest.state.Desired), s.pendingStableSpec()
	v.hold.why = heldMessage(s, v.newest.state, v.newest.id, v.running.revision)
	if v.hold.why == "" {
		v.hold.guard, v.hold.why = s.guardHold()
	}
	if progress.Pinned {
		progress.Sources = rollout.PinMessage(s.object, v.newest.state, scripts.RevisionID(s.rollout.Revision), progress.Serving)
	}
	v.rollout, v.approvals = progress, rollout.ApprovalsOf(s.object, s.rollout, v.newest.objects)
	v.mistaken = v.mistakenApprovals(v1alpha1.StoredStatus(s.object))
	mistaken := warningsOf(v.mistaken)
	v.warnings = append(v.warnings, mistaken...)
	v.running.parents = s.shards.addTo(newParentStatus(s.running, progress.Serves(v.running.revision), r.config.Environment.Clock.Now()))
	ready := scriptsCondition(newest, progress.WithServing(v.newest.state, newest == s.running), v.hold.why)
	v.conditions = []metav1.Condition{acceptedCondition(refusal), progress.InScriptsReady(s.object, ready)}
	if s.rights != nil {
		v.conditions = append(v.conditions, s.rights.condition())
	}
	if c, known := progress.WaitingCondition(s.object, managersOf(v.newest.objects)); known && v.isOfRollout(c) {
		v.conditions = append(v.conditions, c)
	} else if progressing, known := progressingCondition(s, v); known {
		v.conditions = append(v.conditions, progressing)
	}
	last := &v.conditions[len(v.conditions)-1]
	if len(mistaken) > 0 && last.Type == v1alpha1.ConditionProgressing && last.Status == metav1.ConditionFalse {
		last.Message += "\n" + plan.Messages(mistaken)
	}
	v.edit = editCondition(s, refusal, v)
	v.conditions = append(v.conditions, withPendingEdit(s.shards.addToReady(readyCondition(s, refusal, v)), v.edit))
	return v
}

// reasonAccepted is the reason of the condition Accepted of a definition that is.
const reasonAccepted = "Accepted"

func acceptedCondition(refusal *plan.Refusal) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: reasonAccepted}
	c.Message = "the spec is valid and its resources are served"
	if refusal != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, refusal.Reason, refusal.Err.Error()
	}
	return c
}

// scriptsCondition reports whether the newest scripts serve.
func scriptsCondition(newest *instance, state scripts.State, held string) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionScriptsReady, Status: metav1.ConditionTrue}
	switch {
	case newest == nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "NotAccepted", "scripts are loaded once the definition is accepted"
	case newest.hooks.Tree == nil:
		c.Reason, c.Message = "NoScripts", "no hook is a script"
	case !state.LoadingSince.IsZero():
		c.Status, c.Reason = metav1.ConditionUnknown, reasonLoading
		c.Message = fmt.Sprintf("revision %s has been loading since %s: the host is short of CPU, or of script workers (--script-workers)%s",
			state.Desired.Short(), state.LoadingSince.UTC().Format(time.RFC3339), fallbackMessage(state))
	case state.Testing != "":
		c.Status, c.Reason = metav1.ConditionUnknown, "Testing"
		c.Message = "the tests of revision " + state.Testing.Short() + " are being run" + fallbackMessage(state)
	case len(state.Problems) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, state.Problems[0].Reason(), state.Message()
		c.Message += fallbackMessage(state)
	case state.Loaded == "" && state.Previewing != "" && state.NotRestored != "":
		c.Status, c.Reason = metav1.ConditionUnknown, "Restoring"
		c.Message = "revision " + state.Previewing.Short() + " waits for what served before, to be compared with it: " + state.NotRestored
	case state.Loaded == "" && state.Held == "":
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, reasonLoading, "the scripts are being read"
	case held != "": // They have loaded. kubectl get shows the reason.
		c.Reason, c.Message = rollout.ReasonHeld, held
	default:
		c.Reason, c.Message = "Loaded", "revision "+state.Loaded.Short()+" serves"
		if state.Warnings != "" {
			c.Message += ", with warnings\n" + state.Warnings
		}
	}
	if state.Sources != "" {
		c.Message += "\n" + state.Sources
	}
	if state.NotArchived != "" {
		c.Message += "\nit would not outlive a restart of the host: " + state.NotArchived
	}
	return c
}

// reasonLoading is the reason of the condition ScriptsReady before it is known whether a text loads.
const reasonLoading = "Loading"

// fallbackMessage returns which scripts serve instead of scripts that don't load.
func fallbackMessage(state scripts.State) string {
	switch {
	case state.RestoredFrom != "":
		return "\nrevision " + state.Loaded.Short() + " goes on serving, from ControllerRevision " + state.RestoredFrom
	case state.Loaded != "":
		return "\nrevision " + state.Loaded.Short() + " goes on serving"
	case state.NotRestored != "":
		return "\nnone serves in its place: " + state.NotRestored
	}
	return ""
}

// reasonCredentialsNotReady is the reason of the condition Ready, and of an event, if
// credentials of webhooks are missing.
const reasonCredentialsNotReady = "CredentialsNotReady"

// reasonScriptResting is the reason of the condition Ready, and of an event, while a script is
// not called because it made its workers fail.
const reasonScriptResting = "ScriptResting"

// Reasons of the condition Ready.
const (
	reasonRunning         = "Running"
	reasonStarting        = "Starting"
	reasonEarlierSpec     = "EarlierSpecServes"
	reasonNotAccepted     = "NotAccepted"
	reasonScriptsNotReady = "ScriptsNotReady"
)

// readyCondition reports whether parents are synced by the present spec.
func readyCondition(s *runtimeState, refusal *plan.Refusal, v statusView) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	problems := v.newest.state.Message()
	if !v.newest.state.LoadingSince.IsZero() { // They are those of another text, which may have been mended.
		problems = ""
	}
	switch {
	case s.running == nil && refusal != nil:
		c.Reason, c.Message = reasonNotAccepted, "no parent is synced: "+refusal.Err.Error()
	case s.running == nil && s.next != nil && !s.next.hooks.CredentialsReady():
		c.Reason, c.Message = reasonCredentialsNotReady, "no parent is synced before the webhooks can be called\n"+v.newest.credentials
	case s.running == nil:
		c.Reason, c.Message = reasonScriptsNotReady, "no parent is synced before the scripts have loaded: see the condition ScriptsReady"
		if problems != "" {
			c.Message = "no parent is synced before the scripts have loaded: " + problems
		} else if v.hold.why != "" {
			c.Message = "no parent is synced: " + v.hold.why
		}
	case refusal != nil || s.next != nil:
		c.Reason = reasonEarlierSpec
		c.Message = fmt.Sprintf("parents are synced as generation %d of the spec says, with the scripts of that time, until the present one can be",
			s.running.plan.Generation)
		for _, cause := range []string{errorText(refusal), problems, v.hold.why, v.newest.credentials} {
			if cause != "" {
				c.Message += "\n" + cause
			}
		}
	case s.running.readError() != nil:
		c.Reason, c.Message = "ResourceUnreadable", s.running.readError().Error()
	case !s.running.synced.Load():
		c.Reason, c.Message = reasonStarting, "the objects of the definition's resources are being listed"
	case s.rights != nil && len(s.rights.forParents) > 0:
		authorized := s.rights.condition()
		c.Reason, c.Message = authorized.Reason, authorized.Message
	case v.running.openCircuits != "":
		c.Reason, c.Message = reasonScriptResting, v.running.openCircuits
	case v.running.hotLoops != "":
		c.Reason, c.Message = variant.ReasonHotLoop, v.running.hotLoops
		if len(v.warnings) > 0 {
			c.Message += "\n" + plan.Messages(v.warnings)
		}
	case v.newest.credentials != "":
		c.Status, c.Reason = metav1.ConditionTrue, reasonCredentialsNotReady
		c.Message = "parents are synced, and webhooks called with what was good last, if anything was\n" + v.newest.credentials
		if len(v.warnings) > 0 {
			c.Message += "\n" + plan.Messages(v.warnings)
		}
	case v.selectsNone():
		c.Reason, c.Message = plan.ReasonParentsNotSelected, plan.Messages(v.warnings)
	case len(v.warnings) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v.warnings[0].Reason, plan.Messages(v.warnings)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonRunning, "parents are synced"
	}
	return c
}

func errorText(refusal *plan.Refusal) string {
	if refusal == nil {
		return ""
	}
	return refusal.Err.Error()
}

// notFoundDelay is for how long a resource may be missing before an event warns of it. A CustomResourceDefinition that is applied together
// with the definition, by whatever tool and in either order, is served by then.
const notFoundDelay = 10 * time.Second

// setAccepted notes what the condition Accepted says, for the event about it. It returns how long it is until that is due, or zero.
func (e *lastEvents) setAccepted(before lastEvents, accepted metav1.Condition, now time.Time) (wait time.Duration) {
	if accepted.Status != metav1.ConditionFalse {
		return 0
	}
	if accepted.Reason == plan.ReasonResourceNotFound {
		if e.notFoundSince = before.notFoundSince; e.notFoundSince.IsZero() {
			e.notFoundSince = now
		}
		if wait = e.notFoundSince.Add(notFoundDelay).Sub(now); wait > 0 {
			return wait
		}
	}
	e.accepted = accepted.Message
	return 0
}

// sendEvents sends an event for each change since the last ones. It returns how long it is until another one is due, or zero.
func (r *Reconciler) sendEvents(object *unstructured.Unstructured, s *runtimeState, v statusView) (wait time.Duration) {
	before := s.lastEvents
	now := lastEvents{
		problems: v.newest.state.Message(), revision: v.running.revision, warnings: v.warnings,
		credentials: v.newest.credentials, openCircuits: v.running.openCircuits, held: v.hold.why,
		versions: before.versions, rollout: before.rollout,
	}
	if s.rights != nil && s.rights.count() > 0 {
		now.forbidden = s.rights.condition().Message
	}
	if now.forbidden != "" && now.forbidden != before.forbidden {
		r.warn(object, variant.ReasonForbidden, now.forbidden)
	}
	wait = now.setAccepted(before, v.conditions[0], r.config.Environment.Clock.Now())
	if now.accepted != "" && now.accepted != before.accepted {
		r.warn(object, "CreateError", now.accepted)
	}
	if r.sendScriptEvents(object, v, before, now) || before.revision == "" {
		now.versions = versionsOf(v.newest.objects)
	}
	s.lastEvents = now
	if now.credentials != "" && now.credentials != before.credentials {
		r.warn(object, reasonCredentialsNotReady, now.credentials)
	}
	if now.openCircuits != "" && now.openCircuits != before.openCircuits {
		r.warn(object, reasonScriptResting, now.openCircuits)
	}
	r.sendWarningEvents(object, before.warnings, now.warnings)
	r.sendApprovalEvents(object, v, before.warnings)
	return wait
}

// warn emits an event about a definition, and logs it.
func (r *Reconciler) warn(object *unstructured.Unstructured, reason, message string) {
	r.event(object, corev1.EventTypeWarning, reason, message)
	verbosity.Warn(r.config.Environment.Log, "definition needs attention", "definition", nameOf(object), "reason", reason, "message", message)
}

// nameOf returns the name of a definition in the log, which is that of its Config.
func nameOf(object *unstructured.Unstructured) string {
	return apply.KeyOf(object).String()
}

func (r *Reconciler) event(object *unstructured.Unstructured, kind, reason, message string) {
	if r.follows(apply.KeyOf(object)) { // Its owner has it.
		return
	}
	r.config.Environment.Events.Rare.Event(object, kind, reason, message)
}

// newParentStatus returns what there is to say of the parents of the running instance, which may be nil. serves is the revision of its
// scripts.
func newParentStatus(running *instance, serves scripts.RevisionID, now time.Time) status.Parents {
	switch {
	case running == nil:
		return status.Parents{}
	case !running.synced.Load():
		return status.Parents{Generation: running.plan.Generation, Keep: now.Sub(running.startedAt) < status.SweepTime}
	}
	summary := running.reconciler.Summary(string(serves))
	return status.Parents{
		Summary: &summary, IsMap: running.plan.Kind == v1alpha1.MapControllerKind, Generation: running.plan.Generation,
		Keep: summary.Sweeping && now.Sub(summary.SweepBegan) < status.SweepTime,
	}
}
