package definition

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Reasons of warnings, for events and for the condition Ready, which stays True unless no parent is selected any more.
const (
	reasonChildResourceRemoved  = "ChildResourceRemoved"
	reasonParentResourceRemoved = "ParentResourceRemoved"
	reasonParentsNotSelected    = "ParentsNotSelected"
	reasonNoStatusSubresource   = "NoStatusSubresource"
	reasonNoStatusChecks        = "NoStatusChecks"
	reasonNoScriptRollout       = "NoScriptRollout"
	reasonScriptNotCompared     = "ScriptNotCompared"
	reasonRelatedNotDeclared    = "RelatedResourcesNotDeclared"
	reasonRelatedNotServed      = "RelatedResourceNotServed"
)

// warning is what a user should know about a running definition. It contains no times, so that
// it changes only with its cause.
type warning struct{ reason, message string }

// warnings returns those of the running instance, the most urgent first.
func (s *runtimeState) warnings() []warning {
	var held []controller.Key
	if s.running.reconciler != nil {
		held = s.running.reconciler.Unfinalized()
	}
	return slices.Concat(unfinalized(held), s.running.hooks.notCompared(), s.sharedChildren(), s.removedWarnings, s.running.plan.warnings())
}

// notCompared returns the warning that scripts took over though there was nothing to compare them with.
func (h *hooks) notCompared() []warning {
	if h == nil || h.tree == nil {
		return nil
	}
	state := h.tree.State()
	if state.NotCompared == "" {
		return nil
	}
	message := fmt.Sprintf("revision %s took over, compared with nothing: %s", state.Loaded.Short(), state.NotCompared)
	if state.Previewed != "" {
		message += "; " + state.Previewed
	}
	return []warning{{reasonScriptNotCompared, message}}
}

// sharedChildren returns the warnings about children that other definitions claim too.
func (s *runtimeState) sharedChildren() (all []warning) {
	if s.running.reconciler == nil {
		return nil
	}
	for _, message := range s.running.reconciler.SharedChildren() {
		all = append(all, warning{variant.ReasonSharedChildren, message})
	}
	return all
}

// warnings returns those about the spec and its resources.
func (p *Plan) warnings() []warning {
	var all []warning
	if text := p.missingStatusSubresource(); text != "" {
		all = append(all, warning{reasonNoStatusSubresource, text})
	}
	if p.rollsNoScripts {
		all = append(all, warning{reasonNoScriptRollout, "parentResource.revisionHistory.scriptChanges: Rolling has no effect: " +
			"it needs a sync hook that a script serves, and a kind of children with a rolling method: an edit reaches all children at once"})
	}
	for _, rule := range p.unchecked {
		all = append(all, warning{reasonNoStatusChecks, fmt.Sprintf(
			"childResources: a rolling update of %s goes on to the next child whether or not the last one is healthy: "+
				"give updateStrategy.statusChecks the conditions that a healthy one has", rule.GroupResource())})
	}
	return all
}

// missingStatusSubresource returns a warning about a parent resource without status
// subresource, in metacontroller's words (section 3.2 of the specification), or "".
// Decorators need no status.
func (p *Plan) missingStatusSubresource() string {
	if p.kind == v1alpha1.DecoratorControllerKind || p.writesNoStatus {
		return ""
	}
	for _, rule := range p.Config.Parents {
		if !rule.HasStatus {
			return fmt.Sprintf("parent resource %s does not have subresource 'Status' enabled: children are managed, and no status is written",
				rule.GroupResource())
		}
	}
	return ""
}

// maxNamed is the number of objects that a warning names.
const maxNamed = 3

// hotLoops describes the hot loops of a running instance that go on, or returns "".
func (i *instance) hotLoops() string {
	if i.reconciler == nil {
		return ""
	}
	all := i.reconciler.HotLoops()
	if len(all) == 0 {
		return ""
	}
	text := "hot loops are slowed down, so that not all is as the hooks want it; the events HotLoop say why\n" +
		strings.Join(all[:min(len(all), maxNamed)], "\n")
	if more := len(all) - maxNamed; more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

// unfinalized returns the warning about parents that the finalize hook has held for long.
func unfinalized(held []controller.Key) []warning {
	if len(held) == 0 {
		return nil
	}
	var names []string
	for _, key := range held[:min(len(held), maxNamed)] {
		names = append(names, key.String())
	}
	more := ""
	if n := len(held) - maxNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return []warning{{variant.ReasonNotFinalized,
		"the finalize hook has answered without finalized for more than a minute, and holds " + strings.Join(names, ", ") + more}}
}

// objectCounts returns the number of objects that an instance manages.
type objectCounts interface {
	ParentsOf(kind schema.GroupKind) int
	NotSelected(rule variant.ParentRule) int
	ChildrenOf(kind schema.GroupKind) int
}

// removedResources returns warnings about resources that previous manages and next does not, if
// there are objects of them: they will be neither updated nor deleted.
func removedResources(previous, next *Plan, left objectCounts) []warning {
	var all []warning
	for _, rule := range previous.Config.Parents {
		kind := rule.Kind.GroupKind()
		if slices.ContainsFunc(next.Config.Parents, func(r variant.ParentRule) bool { return r.Kind.GroupKind() == kind }) {
			continue
		}
		if n := left.ParentsOf(kind); n > 0 {
			all = append(all, warning{reasonParentResourceRemoved, fmt.Sprintf(
				"generation %d of the spec took %s out of %s while it looked after %d of them: "+
					"what was made for them stays and is not updated any more: "+
					"put the resource back, or delete what is not wanted by hand", next.generation, rule.GroupResource(), parentField[next.kind], n)})
		}
	}
	for _, rule := range previous.Config.Children {
		kind := rule.Kind.GroupKind()
		if slices.ContainsFunc(next.Config.Children, func(r variant.ChildRule) bool { return r.Kind.GroupKind() == kind }) {
			continue
		}
		if n := left.ChildrenOf(kind); n > 0 {
			all = append(all, warning{reasonChildResourceRemoved, fmt.Sprintf(
				"generation %d of the spec took %s out of %s while there were %d of them: "+
					"they are not updated any more, nor deleted before their parents are: "+
					"put the resource back and let the hook leave them out of its answer first, or delete them by hand",
				next.generation, rule.GroupResource(), childField[next.kind], n)})
		}
	}
	return all
}

// deselectedParents returns warnings about parents that previous selects and next does not, if there are children: what was made for them is
// left as it is.
func deselectedParents(previous, next *Plan, left objectCounts) (all []warning) {
	if previous.Config.Finalizing.Enabled && next.Config.Finalizing.Enabled { // They are finalized.
		return nil
	}
	if !slices.ContainsFunc(previous.Config.Children, func(r variant.ChildRule) bool { return left.ChildrenOf(r.Kind.GroupKind()) > 0 }) {
		return nil
	}
	for _, rule := range next.Config.Parents {
		if n := left.NotSelected(rule); n > 0 {
			all = append(all, warning{reasonParentsNotSelected, fmt.Sprintf(
				"generation %d of the spec does not select %d of the %s in %s that were parents before: "+
					"what was made for them stays and is not updated any more: "+
					"correct the selector or their labels, or delete what is not wanted by hand", next.generation, n, rule.GroupResource(), parentField[next.kind])})
		}
	}
	return all
}

// selectsNone reports whether there are no parents since an edit of the selector, which there were before.
func (v statusView) selectsNone() bool {
	return v.parents.summary != nil && v.parents.summary.Parents == 0 &&
		slices.ContainsFunc(v.warnings, func(w warning) bool { return w.reason == reasonParentsNotSelected })
}

// The fields with the resources of parents and of children, by kind of definition.
var (
	parentField = map[string]string{
		v1alpha1.CompositeControllerKind: "parentResource",
		v1alpha1.DecoratorControllerKind: "resources",
		v1alpha1.MapControllerKind:       "parentResource",
	}
	childField = map[string]string{
		v1alpha1.CompositeControllerKind: "childResources",
		v1alpha1.DecoratorControllerKind: "attachments",
		v1alpha1.MapControllerKind:       "outputResources",
	}
)

// setRemovedWarnings records what the next instance, which is about to start, no longer manages.
// The warnings stay until the next spec starts, as the objects are no longer watched.
func (s *runtimeState) setRemovedWarnings(next *instance) {
	switch {
	case s.running == nil:
		s.removedWarnings = nil
		ready := meta.FindStatusCondition(storedStatus(s.object).Conditions, v1alpha1.ConditionReady)
		if ready != nil && ready.Reason == reasonParentsNotSelected && ready.ObservedGeneration == next.plan.generation {
			s.removedWarnings = []warning{{ready.Reason, ready.Message}} // It is as before the restart.
		}
	case s.running.plan.uid != next.plan.uid || s.running.plan.generation != next.plan.generation:
		s.removedWarnings = slices.Concat(deselectedParents(s.running.plan, next.plan, s.running.reconciler),
			removedResources(s.running.plan, next.plan, s.running.reconciler))
	}
}

// sendWarningEvents sends an event for each new warning, except for those with an event on the
// parent.
func (r *Reconciler) sendWarningEvents(object *unstructured.Unstructured, before, now []warning) {
	for _, w := range now {
		if w.reason != variant.ReasonNotFinalized && !slices.Contains(before, w) {
			r.warn(object, w.reason, w.message)
		}
	}
}

// messagesOf returns the messages of warnings, one per line.
func messagesOf(warnings []warning) string {
	var lines []string
	for _, w := range warnings {
		lines = append(lines, w.message)
	}
	return strings.Join(lines, "\n")
}
