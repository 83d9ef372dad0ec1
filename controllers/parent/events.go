package parent

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// report emits an event if a parent begins to fail, or has ceased to. It emits none for an error that passes by itself
// within a minute, or for a host that is busy.
func (r *Reconciler) report(key controller.Key, parent *unstructured.Unstructured, err error) {
	switch {
	case errors.Is(err, controller.ErrLater) && (failure.IsBusy(err) || !r.states.IsPostponed(key, parent.GetUID())):
	case err != nil:
		identity := failure.IdentityOf(failure.CauseOf(err).Place, err.Error())
		r.warn(key, parent, notices.Problem{
			Reason: variant.ReasonSyncError, Message: "Sync error: " + err.Error(), Identity: identity, Failure: true,
		})
	default:
		r.reportSynced(parent, r.problems.NoteSynced(key, parent.GetUID()))
	}
}

// reportSynced emits the event about the end of a failure, if it is to be emitted.
func (r *Reconciler) reportSynced(parent *unstructured.Unstructured, outcome string) {
	if outcome == notices.EventsEmitted {
		r.env.Events.Syncs.Event(parent, corev1.EventTypeNormal, variant.ReasonSynced, "the sync succeeds again")
	}
	r.env.Metrics.CountEvent(r.config.Definition, variant.ReasonSynced, outcome)
}

// reportRecovered emits the events about parents that have recovered when there was no room for them. Such a parent may not be synced
// for long.
func (r *Reconciler) reportRecovered() {
	for _, key := range r.problems.Recovered() {
		if parent, _ := r.find(key); parent != nil {
			r.reportSynced(parent, r.problems.NoteRecovered(key, parent.GetUID()))
		}
	}
}

// warn emits an event about a problem of a parent, unless there was one not long ago.
func (r *shared) warn(key controller.Key, parent *unstructured.Unstructured, found notices.Problem) {
	outcome := r.problems.Note(key, parent.GetUID(), found)
	recorder := r.env.Events.Rare
	if found.Failure {
		recorder = r.env.Events.Syncs
	}
	if outcome == notices.EventsEmitted {
		recorder.Event(parent, corev1.EventTypeWarning, found.Reason, found.Message)
	}
	r.env.Metrics.CountEvent(r.config.Definition, found.Reason, outcome)
}

// mayEmit reports whether a budget has room for an event, and counts whether it is emitted.
func (r *shared) mayEmit(reason string, budget flowcontrol.PassiveRateLimiter) bool {
	outcome := r.problems.Accept(budget)
	r.env.Metrics.CountEvent(r.config.Definition, reason, outcome)
	return outcome == notices.EventsEmitted
}

// warnOnce emits an event about what the caller reports once about a parent, or at intervals of its own.
func (p *pass) warnOnce(reason, message string) {
	p.warnWithin(p.problems.Rare, reason, message)
}

// warnOfScripts emits an event about what is reported once for a revision of the scripts.
func (p *pass) warnOfScripts(reason, message string) {
	p.warnWithin(p.problems.OfScripts, reason, message)
}

func (p *pass) warnWithin(budget flowcontrol.PassiveRateLimiter, reason, message string) {
	if p.mayEmit(reason, budget) {
		p.env.Events.Rare.Event(p.parent, corev1.EventTypeWarning, reason, message)
	}
}

// logDroppedEvents logs how many events were dropped, if any were.
func (r *Reconciler) logDroppedEvents() {
	if dropped := r.problems.TakeDropped(); dropped > 0 {
		verbosity.Warn(r.env.Log, "events are dropped, as there are too many", "definition", r.config.Definition, "dropped", dropped)
	}
}

// maxNamedChildren is how many children of a kind an event names, and maxNamedKinds how many kinds.
const (
	maxNamedChildren = 10
	maxNamedKinds    = 5
)

// childVerbs are the events about children, with the beginning of their messages.
var childVerbs = []struct {
	action       apply.Action
	reason, verb string
}{
	{apply.ActionCreate, variant.ReasonCreated, "Created"},
	{apply.ActionRecreate, variant.ReasonRecreated, "Recreating"},
	{apply.ActionDelete, variant.ReasonDeleted, "Deleted"},
	{apply.ActionOrphan, variant.ReasonOrphaned, "Let go of"},
}

// noteChanged records a child that was created, deleted or released for emitChildEvents.
func (p *pass) noteChanged(change apply.Change) {
	if p.isRevision(change) || p.env.Events.Children == nil && change.Action != apply.ActionRelease {
		return
	}
	if p.writes.changed == nil {
		p.writes.changed = map[apply.Action][]apply.Change{}
	}
	p.writes.changed[change.Action] = append(p.writes.changed[change.Action], change)
}

// emitChildEvents emits an event for the children that the pass has created, one for those that it has deleted to create them anew, and one
// for those that it has deleted or let go of. It warns of those that it has released.
func (p *pass) emitChildEvents() {
	p.reportReleased(p.writes.changed[apply.ActionRelease])
	for _, v := range childVerbs {
		children := p.writes.changed[v.action]
		if len(children) == 0 {
			continue
		}
		if p.mayEmit(v.reason, p.problems.Children) {
			message := v.verb + " " + describeChildren(p.parent.GetNamespace(), children)
			p.env.Events.Children.Event(p.parent, corev1.EventTypeNormal, v.reason, message)
		}
	}
}

// reportReleased reports the children that are no longer the parent's, because its selector or their labels have changed: once for a
// selector, as they may be handed over one by one.
func (p *pass) reportReleased(children []apply.Change) {
	if len(children) == 0 {
		return
	}
	selector := p.claim.Selector.String()
	p.warn(p.key, p.parent, notices.Problem{Reason: variant.ReasonReleasedChildren, Identity: selector, Message: fmt.Sprintf(
		"Released %s: not the parent's any more, and left as they are, as their labels do not match its selector %s: "+
			"correct the selector or the labels, and they are adopted again, or delete them",
		describeChildren(p.parent.GetNamespace(), children), selector)})
}

// describeChildren returns the number and the names of children, by kind. Those of another namespace have it before their names.
func describeChildren(namespace string, children []apply.Change) string {
	var plurals []string
	byPlural, singulars := map[string][]string{}, map[string]string{}
	for _, change := range children {
		plural := pluralOf(change.Key.Kind.Kind, change.Resource.Resource)
		if byPlural[plural] == nil {
			plurals, singulars[plural] = append(plurals, plural), change.Key.Kind.Kind
		}
		name := change.Key.Name
		if change.Key.Namespace != "" && change.Key.Namespace != namespace {
			name = change.Key.Namespace + "/" + name
		}
		byPlural[plural] = append(byPlural[plural], name)
	}
	var texts []string
	for _, plural := range plurals[:min(len(plurals), maxNamedKinds)] {
		names := byPlural[plural]
		if len(names) == 1 {
			plural = singulars[plural]
		}
		text := fmt.Sprintf("%d %s: %s", len(names), plural, strings.Join(names[:min(len(names), maxNamedChildren)], ", "))
		if more := len(names) - maxNamedChildren; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		texts = append(texts, text)
	}
	if more := len(plurals) - maxNamedKinds; more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more kinds", more))
	}
	return strings.Join(texts, "; ")
}

// pluralOf returns the name of a resource with the capitals of its kind: Ingresses, NetworkPolicies.
func pluralOf(kind, resource string) string {
	same := 0
	for same < len(kind) && same < len(resource) && strings.EqualFold(kind[same:same+1], resource[same:same+1]) {
		same++
	}
	return kind[:same] + resource[same:]
}

// emitEvents emits the new events that the hooks ask for, and those about new reasons to wait. It emits none before the children are as
// the hooks want them, so that no event tells of what has failed.
func (p *pass) emitEvents(desired variant.Desired, applied bool) {
	asked := p.waitEvents(desired.Waits())
	for _, event := range desired.Events {
		asked = append(asked, p.hookEvents.Request(event))
	}
	if !applied {
		p.env.Metrics.CountEvents(p.config.Definition, notices.EventsWithheld, len(asked))
		return
	}
	c := p.hookEvents.Choose(p.key, p.parent, asked, desired.MoreEvents, p.writes.any)
	for _, event := range c.Emit {
		p.env.Events.Hooks.Event(p.parent, event.Type, event.Reason, event.Message)
	}
	p.env.Metrics.CountEvents(p.config.Definition, notices.EventsEmitted, len(c.Emit))
	p.env.Metrics.CountEvents(p.config.Definition, notices.EventsRepeated, c.Repeated)
	p.env.Metrics.CountEvents(p.config.Definition, notices.EventsDropped, c.Dropped)
	if c.FirstDropped {
		p.env.Log.Info("events of a hook are dropped", "definition", p.config.Definition, "parent", p.key.String(), "dropped", c.Dropped)
	}
	if c.TellDropped {
		p.env.Events.Syncs.Event(p.parent, corev1.EventTypeWarning, variant.ReasonEventsDropped, p.hookEvents.Limits.Explain())
	}
}

// waitEvents returns an event for each reason that hooks wait for. The reason makes it what it is, not the message.
func (p *pass) waitEvents(waits []variant.Wait) (asked []notices.RequestedEvent) {
	if len(waits) == 0 {
		return nil
	}
	count := map[string]int{}
	for _, wait := range waits {
		count[wait.Reason]++
	}
	for _, wait := range waits {
		if count[wait.Reason] == 0 {
			continue
		}
		text := wait.String()
		if others := count[wait.Reason] - 1; others > 0 {
			text += fmt.Sprintf(" (and %d more inputs)", others)
		}
		event := variant.Event{Type: corev1.EventTypeNormal, Reason: variant.ReasonWaiting,
			Message: text + ": until then " + listsOf(wait) + " stay as they are"}
		asked = append(asked, p.hookEvents.RequestAsWait(event, wait.Reason))
		count[wait.Reason] = 0
	}
	return asked
}

// listsOf returns what a hook leaves alone that waits.
func listsOf(wait variant.Wait) string {
	if wait.Input != "" {
		return "the outputs"
	}
	return "the children"
}
