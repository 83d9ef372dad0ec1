package definition

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// view is what there is to tell about a definition.
type view struct {
	conditions []metav1.Condition
	revision   string
	parents    *int32
	warning    string // about the resources, or ""
	problems   scripts.State
}

// told is what the last events said.
type told struct{ accepted, problems, revision, warning string }

// view looks at what runs and what waits.
func (r *Reconciler) view(h *hosted, refusal *Refusal) view {
	v := view{}
	newest := h.next
	if newest == nil {
		newest = h.running
	}
	if newest != nil && newest.hooks.tree != nil {
		v.problems = newest.hooks.tree.State()
	}
	if h.running != nil {
		v.revision = h.running.hooks.revision()
		v.warning = h.running.plan.warning()
		if h.running.synced.Load() {
			count := int32(h.running.reconciler.Parents())
			v.parents = &count
		}
	}
	v.conditions = []metav1.Condition{acceptedCondition(refusal), scriptsCondition(newest, v.problems), readyCondition(h, refusal, v.warning)}
	return v
}

func acceptedCondition(refusal *Refusal) metav1.Condition {
	if refusal != nil {
		return metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: refusal.Reason, Message: refusal.Err.Error()}
	}
	return metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionTrue, Reason: reasonAccepted, Message: "the spec is valid and its resources are served"}
}

// scriptsCondition says whether the newest scripts serve.
func scriptsCondition(newest *instance, state scripts.State) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionScriptsReady, Status: metav1.ConditionTrue}
	switch {
	case newest == nil:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "NotAccepted", "scripts are loaded once the definition is accepted"
	case newest.hooks.tree == nil:
		c.Reason, c.Message = "NoScripts", "no hook is a script"
	case len(state.Problems) > 0:
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, state.Problems[0].Reason(), state.Message()
		if state.Loaded != "" {
			c.Message += "\nrevision " + state.Loaded + " goes on serving"
		}
	case state.Loaded == "":
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, "Loading", "the scripts are being read"
	default:
		c.Reason, c.Message = "Loaded", "revision "+state.Loaded+" serves"
	}
	return c
}

// readyCondition says whether parents are synced as the spec says.
func readyCondition(h *hosted, refusal *Refusal, warning string) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse}
	switch {
	case h.running == nil && refusal != nil:
		c.Reason, c.Message = "NotAccepted", "no parent is synced: see the condition Accepted"
	case h.running == nil:
		c.Reason, c.Message = "ScriptsNotReady", "no parent is synced before the scripts have loaded: see the condition ScriptsReady"
	case refusal != nil || h.next != nil:
		c.Reason = "EarlierSpecServes"
		c.Message = fmt.Sprintf("parents are synced as generation %d of the spec says, until the present one can be", h.running.plan.generation)
	case h.running.unreadable() != nil:
		c.Reason, c.Message = "ResourceUnreadable", h.running.unreadable().Error()
	case !h.running.synced.Load():
		c.Reason, c.Message = "Starting", "the objects of the definition's resources are being listed"
	case warning != "":
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "NoStatusSubresource", warning
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, "Running", "parents are synced"
	}
	return c
}

// warning names the parent resources whose status can't be written, in the
// words that metacontroller's users look for (section 3.2 of the specification).
// A decorator need not have anything to say there.
func (p *Plan) warning() string {
	if p.kind == v1alpha1.DecoratorControllerKind {
		return ""
	}
	for _, rule := range p.Config.Parents {
		if !rule.HasStatus {
			return fmt.Sprintf("parent resource %s does not have subresource 'Status' enabled: children are managed, and no status is written", rule.GroupResource())
		}
	}
	return ""
}

// writeStatus writes what has changed of the definition's status.
func (r *Reconciler) writeStatus(ctx context.Context, object *unstructured.Unstructured, v view) error {
	current := struct {
		Status v1alpha1.DefinitionStatus `json:"status"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": object.Object["status"]}, &current); err != nil {
		current.Status = v1alpha1.DefinitionStatus{}
	}
	status := current.Status
	status.ObservedGeneration = object.GetGeneration()
	status.ScriptRevision, status.Parents = v.revision, v.parents
	for _, condition := range v.conditions {
		condition.ObservedGeneration = object.GetGeneration()
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	desired, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	resource := v1alpha1.GroupVersion.WithResource(definitionKinds[object.GetKind()])
	_, err = r.status.Write(ctx, resource, object, desired)
	return err
}

// tell sends an event for everything that is new since the last ones.
func (r *Reconciler) tell(object *unstructured.Unstructured, h *hosted, v view) {
	now := told{problems: v.problems.Message(), revision: v.revision, warning: v.warning}
	if accepted := v.conditions[0]; accepted.Status == metav1.ConditionFalse {
		now.accepted = accepted.Message
	}
	before := h.told
	h.told = now
	if now.accepted != "" && now.accepted != before.accepted {
		r.event(object, corev1.EventTypeWarning, "CreateError", now.accepted)
	}
	if now.problems != "" && now.problems != before.problems {
		r.event(object, corev1.EventTypeWarning, v.problems.Problems[0].Reason(), now.problems)
	}
	if now.revision != before.revision && before.revision != "" && now.revision != "" {
		r.event(object, corev1.EventTypeNormal, "ScriptReloaded", "revision "+now.revision+" serves")
	}
	if now.warning != "" && now.warning != before.warning {
		r.event(object, corev1.EventTypeWarning, "NoStatusSubresource", now.warning)
	}
}

func (r *Reconciler) event(object *unstructured.Unstructured, kind, reason, message string) {
	r.config.Environment.Events.Event(object, kind, reason, message)
}
