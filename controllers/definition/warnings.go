package definition

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// reasonNoBaseline is the reason of the warning about scripts that took over though there was nothing to compare them with.
const reasonNoBaseline = "ScriptNotCompared"

// warnings returns those of the running instance, the most urgent first.
func (s *runtimeState) warnings() []plan.Warning {
	var held []controller.Key
	if s.running.reconciler != nil {
		held = s.running.reconciler.Unfinalized()
	}
	return slices.Concat(unfinalized(held), s.running.notCompared(), s.sharedChildren(), s.standing.schemas.Warnings(),
		s.shards.removed(s.standing.removed), s.running.plan.SpecWarnings())
}

// notCompared returns the warning that scripts took over though there was nothing to compare them with.
func (i *instance) notCompared() []plan.Warning {
	if i.hooks.Tree == nil {
		return nil
	}
	state := i.hooks.Tree.State()
	if state.NoBaselineReason == "" {
		return nil
	}
	message := fmt.Sprintf("revision %s took over, compared with nothing: %s", state.Loaded.Short(), state.NoBaselineReason)
	if state.Previewed != "" {
		message += "; " + state.Previewed
	}
	return []plan.Warning{{Reason: reasonNoBaseline, Message: message}}
}

// sharedChildren returns the warnings about children that other definitions claim too.
func (s *runtimeState) sharedChildren() (all []plan.Warning) {
	if s.running.reconciler == nil {
		return nil
	}
	for _, message := range s.running.reconciler.SharedChildren() {
		all = append(all, plan.Warning{Reason: variant.ReasonSharedChildren, Message: message})
	}
	return all
}

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
		strings.Join(all[:min(len(all), plan.MaxNamed)], "\n")
	if more := len(all) - plan.MaxNamed; more > 0 {
		text += fmt.Sprintf("\nand %d more", more)
	}
	return text
}

// unfinalized returns the warning about parents that the finalize hook has held for long.
func unfinalized(held []controller.Key) []plan.Warning {
	if len(held) == 0 {
		return nil
	}
	var names []string
	for _, key := range held[:min(len(held), plan.MaxNamed)] {
		names = append(names, key.String())
	}
	more := ""
	if n := len(held) - plan.MaxNamed; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return []plan.Warning{{Reason: variant.ReasonNotFinalized, Message: "the finalize hook has answered without finalized " +
		"for more than a minute, and holds " + strings.Join(names, ", ") + more}}
}

// selectsNone reports whether there are no parents since an edit of the selector, which there were before.
func (v statusView) selectsNone() bool {
	return v.running.parents.Summary != nil && v.running.parents.Summary.Parents == 0 &&
		slices.ContainsFunc(v.warnings, func(w plan.Warning) bool { return w.Reason == plan.ReasonParentsNotSelected })
}

// setRemovedWarnings records what the next instance, which is about to start, no longer manages.
// The warnings stay until the next spec starts, as the objects are no longer watched.
func (s *runtimeState) setRemovedWarnings(next *instance) {
	switch {
	case s.running == nil:
		if s.standing.removed = nil; s.shards.follows { // The owner has what the status says.
			return
		}
		ready := meta.FindStatusCondition(v1alpha1.StoredStatus(s.object).Conditions, v1alpha1.ConditionReady)
		if ready != nil && ready.Reason == plan.ReasonParentsNotSelected && ready.ObservedGeneration == next.plan.Generation {
			s.standing.removed = []plan.Warning{{Reason: ready.Reason, Message: ready.Message}} // It is as before the restart.
		}
	case s.running.plan.UID != next.plan.UID || s.running.plan.Generation != next.plan.Generation:
		s.standing.removed = plan.Removed(s.running.plan, next.plan, s.running.reconciler)
	}
}

// sendWarningEvents sends an event for each new warning, except for those with an event on the
// parent.
func (r *Reconciler) sendWarningEvents(object *unstructured.Unstructured, before, now []plan.Warning) {
	for _, w := range now {
		if w.Reason != variant.ReasonNotFinalized && !slices.Contains(before, w) {
			r.warn(object, w.Reason, w.Message)
		}
	}
}
