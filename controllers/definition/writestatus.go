package definition

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// reasonNotHosted is the reason of the condition Ready after the host has released a definition.
const reasonNotHosted = "NotHosted"

// writeStatus writes the definition's status if it has changed.
func (r *Reconciler) writeStatus(ctx context.Context, object *unstructured.Unstructured, s *runtimeState, v statusView) error {
	status := s.statusOf(object, v)
	r.addApprover(ctx, object, s, status.ScriptRollout)
	s.status = &status
	s.retain(object, &status)
	if err := r.sendStatus(ctx, object, status); err != nil {
		return err
	}
	r.announceApproval(object, s, v, status.ScriptRollout)
	return nil
}

// statusOf returns the status with the content of a view. Unchanged conditions keep their
// transition times, even if the schema does not have them.
func (s *runtimeState) statusOf(object *unstructured.Unstructured, v statusView) v1alpha1.DefinitionStatus {
	status := v1alpha1.StoredStatus(object)
	if len(status.Conditions) == 0 && s.status != nil {
		status = *s.status.DeepCopy()
	}
	status.ObservedGeneration = object.GetGeneration()
	if !v.running.idle {
		serves := v.rollout.Serves(v.running.revision)
		status.PreviousScriptRevisionHash = previousRevision(status, serves)
		if string(serves) != status.ScriptRevisionHash {
			status.UpdatedParents = nil // It is about the one before.
		}
		status.ScriptRevision, status.ScriptRevisionHash = serves.Short(), string(serves)
	}
	status.ObservedScriptRevisionHash = observedRevision(status, v)
	before := status.ScriptRollout
	status.ScriptRollout = v.rollout.Merge(scriptRolloutStatus(before, v))
	rollout.SetApproval(before, status.ScriptRollout, v.approvals)
	for _, condition := range v.conditions {
		condition.ObservedGeneration = object.GetGeneration()
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	if s.rights == nil && !v.running.idle {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionAuthorized)
	}
	if s.guard != nil {
		status.DeletionGuard = s.guard.Record().Status()
	}
	setPendingEdit(&status, v.edit)
	v.running.parents.Set(&status)
	return status
}

// sendStatus writes a status if the kind of definition has a status subresource, which is
// optional in metacontroller's CustomResourceDefinitions.
func (r *Reconciler) sendStatus(ctx context.Context, object *unstructured.Unstructured, status v1alpha1.DefinitionStatus) error {
	resource, err := r.resourceOf(object.GroupVersionKind())
	if err != nil || !resource.HasStatus {
		return nil // syncCache has logged it.
	}
	desired, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	_, err = r.status.Write(ctx, resource, object, desired)
	return err
}

// writeNotHosted reports in a definition's status that this host has released it, unless
// another host has changed the status since.
func (r *Reconciler) writeNotHosted(ctx context.Context, object *unstructured.Unstructured, s *runtimeState) error {
	status, write := s.notHostedStatus(object, r.config.Admission.Target.String())
	if !write {
		return nil
	}
	return r.sendStatus(ctx, object, status)
}

// notHostedStatus returns the status of a definition whose labels the selector no longer
// matches, and whether to write it: only if this host wrote the last condition Ready.
func (s *runtimeState) notHostedStatus(object *unstructured.Unstructured, selector string) (v1alpha1.DefinitionStatus, bool) {
	next := v1alpha1.StoredStatus(object)
	stored := meta.FindStatusCondition(next.Conditions, v1alpha1.ConditionReady)
	if s.status == nil || !sameCondition(stored, meta.FindStatusCondition(s.status.Conditions, v1alpha1.ConditionReady)) {
		return next, false
	}
	status.Parents{}.Set(&next)
	setPendingEdit(&next, metav1.Condition{})
	meta.SetStatusCondition(&next.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: reasonNotHosted, ObservedGeneration: object.GetGeneration(),
		Message: fmt.Sprintf("the host that ran it has let go of it, as --target-label-selector=%s does not select its labels: "+
			"no parent is synced unless another host takes it on", selector),
	})
	return next, true
}

// sameCondition compares conditions as they are stored, with whole seconds.
func sameCondition(a, b *metav1.Condition) bool {
	if a == nil || b == nil {
		return false
	}
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.ObservedGeneration == b.ObservedGeneration &&
		a.LastTransitionTime.Unix() == b.LastTransitionTime.Unix()
}

// previousRevision returns the revision that served before the one that now does, in full. It stays over restarts, and while no script
// serves.
func previousRevision(stored v1alpha1.DefinitionStatus, serves scripts.RevisionID) string {
	before := rollout.ServedRevision(stored)
	switch {
	case before != "" && serves != "" && serves != before:
		return string(before)
	case string(serves) == stored.PreviousScriptRevisionHash: // No script served between.
		return ""
	}
	return stored.PreviousScriptRevisionHash
}

// observedRevision returns the revision that the sources hold, in full. It stays while they are being read.
func observedRevision(stored v1alpha1.DefinitionStatus, v statusView) string {
	state := v.newest.state
	switch {
	case v.newest.noScripts:
		return ""
	case state.Desired == "" && (len(state.Problems) == 0 || state.Testing != ""):
		return stored.ObservedScriptRevisionHash
	}
	return string(state.Desired)
}
