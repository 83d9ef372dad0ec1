package definition

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// awaiting returns the revision that takes over once it is approved, or "".
func (v statusView) awaiting() scripts.RevisionID {
	switch next := v.rollout.Next; {
	case v.hold.guard != "":
		return scripts.RevisionID(v.hold.guard)
	case v.rollout.PinHeld != nil:
		return scripts.RevisionID(v.rollout.PinHeld.Revision)
	case v.newest.state.Held != "":
		return v.newest.id
	case next.Phase == v1alpha1.ScriptsRolledBack:
		return scripts.RevisionID(next.FailedRevision)
	case next.Phase == v1alpha1.ScriptsHeld:
		return scripts.RevisionID(next.UpdatedRevision)
	}
	return ""
}

// reasonApprovalInvalid is the reason of the warning about an annotation that approves nothing.
const reasonApprovalInvalid = "ApprovalInvalid"

// mistake is an annotation that approves nothing, and why.
type mistake struct {
	rollout.Approval
	why string
}

func (m mistake) warning() plan.Warning {
	message := fmt.Sprintf("annotation %s of %s %s", v1alpha1.ApprovedRevisionAnnotation, m.On, m.why)
	return plan.Warning{Reason: reasonApprovalInvalid, Message: message}
}

func warningsOf(mistakes []mistake) (all []plan.Warning) {
	for _, m := range mistakes {
		all = append(all, m.warning())
	}
	return all
}

// mistakenApprovals returns the annotations that are no ID, and while a revision waits for its approval those that do not approve it. What
// has been let through may keep its annotation.
func (v statusView) mistakenApprovals(stored v1alpha1.DefinitionStatus) (all []mistake) {
	waits := v.awaiting()
	for _, a := range v.approvals {
		why := ""
		switch {
		case !scripts.IsRevisionID(a.Text):
			why = fmt.Sprintf("is %q, which is no ID of a revision, and approves nothing: write all 64 hexadecimal digits or the first 16", a.Text)
		case waits == "" || rollout.ApprovalOf(v.approvals, waits) != nil || v.running.revision.IsApprovedBy(a.Text):
		case stored.ScriptRollout != nil && scripts.RevisionID(stored.ScriptRollout.ApprovedRevision).IsApprovedBy(a.Text):
		case !waits.IsApprovedBy(a.Text):
			why = fmt.Sprintf("names revision %s, and the one that waits for its approval is %s", a.Text, waits.Short())
		default:
			why = fmt.Sprintf("does not count: annotate the definition, or let its spec.scriptRollout.approvals be %s", v1alpha1.ConfigMapApprovals)
		}
		if why != "" {
			all = append(all, mistake{a, why})
		}
	}
	return all
}

// sendApprovalEvents sends an event to each source with a new mistake: its authors need not have access to definitions. That of the
// definition is one of its warnings.
func (r *Reconciler) sendApprovalEvents(object *unstructured.Unstructured, v statusView, before []plan.Warning) {
	for _, m := range v.mistaken {
		if w := m.warning(); m.Source.UID != "" && !slices.Contains(before, w) {
			r.config.Environment.Events.Rare.Event(reference(m.Source), corev1.EventTypeWarning, w.Reason, nameOf(object)+": "+w.Message)
		}
	}
}

// approver is who wrote the annotation that approves a revision.
type approver struct {
	revision string
	scripts.Approval
}

// addApprover adds the manager of the definition's annotation to a status that is about to have its approval. Caches hold no managed
// fields, so that this is asked for, once for each revision that is approved.
func (r *Reconciler) addApprover(
	ctx context.Context, object *unstructured.Unstructured, s *runtimeState, next *v1alpha1.ScriptRolloutStatus,
) {
	if next == nil || next.Approval == nil || next.Approval.Object != nameOf(object) {
		return
	}
	stored := v1alpha1.StoredStatus(object).ScriptRollout
	if stored != nil && stored.Approval != nil && stored.ApprovedRevision == next.ApprovedRevision {
		return
	}
	if s.approved.by.revision != next.ApprovedRevision {
		written, err := r.readApproval(ctx, object)
		if err != nil {
			r.config.Environment.Log.Error(err, "it is not known which field manager has approved a revision", "definition", nameOf(object))
		}
		s.approved.by = approver{next.ApprovedRevision, written}
	}
	next.Approval = next.Approval.DeepCopy()
	rollout.SetWriter(next.Approval, s.approved.by.Manager, s.approved.by.WrittenAt)
}

// readApproval reads the approval of a definition with its manager. It lists: the host need not have the right to get.
func (r *Reconciler) readApproval(ctx context.Context, object *unstructured.Unstructured) (scripts.Approval, error) {
	if r.config.Environment.Metadata == nil {
		return scripts.Approval{}, nil
	}
	resource := v1alpha1.DefinitionResource(object.GroupVersionKind())
	list, err := r.config.Environment.Metadata.Resource(resource).Namespace(object.GetNamespace()).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, object.GetName()).String(),
	})
	if err != nil {
		return scripts.Approval{}, err
	}
	for _, found := range list.Items {
		if found.UID == object.GetUID() {
			return scripts.ApprovalIn(found.Annotations, found.ManagedFields), nil
		}
	}
	return scripts.Approval{}, nil
}

// announceApproval sends an event about an approval that is stored now. One that a failure has used up is none.
func (r *Reconciler) announceApproval(
	object *unstructured.Unstructured, s *runtimeState, v statusView, next *v1alpha1.ScriptRolloutStatus,
) {
	id := scripts.RevisionID("")
	if next != nil {
		id = scripts.RevisionID(next.ApprovedRevision)
	}
	stored := v1alpha1.StoredStatus(object).ScriptRollout
	switch {
	case id == "":
		s.approved.announced = ""
		return
	case s.approved.announced == string(id), stored != nil && stored.ApprovedRevision == string(id), v.awaiting() == id:
		return
	}
	s.approved.announced = string(id)
	message := rollout.ApprovedMessage(id, next.Approval)
	r.config.Environment.Events.Rollouts.Event(object, corev1.EventTypeNormal, reasonApproved, message)
	if a := rollout.ApprovalOf(v.approvals, id); a != nil && a.Source.UID != "" {
		r.config.Environment.Events.Rollouts.Event(reference(a.Source), corev1.EventTypeNormal, reasonApproved, nameOf(object)+": "+message)
	}
	r.config.Environment.Log.Info("a revision of the scripts is approved", "definition", nameOf(object), "message", message)
}

// reasonApproved is the reason of the event about an approval.
const reasonApproved = "Approved"
