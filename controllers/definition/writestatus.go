package definition

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// notHosted is the reason of the condition Ready after the host has let go of a definition.
const reasonNotHosted = "NotHosted"

// writeStatus writes what has changed of the definition's status.
func (r *Reconciler) writeStatus(ctx context.Context, object *unstructured.Unstructured, s *runtimeState, v statusView) error {
	status := s.statusOf(object, v)
	s.status = &status
	return r.sendStatus(ctx, object, status)
}

// statusOf returns the status that says what the view does. Conditions that were told
// before keep their time, also where the schema has no room for them.
func (s *runtimeState) statusOf(object *unstructured.Unstructured, v statusView) v1alpha1.DefinitionStatus {
	status := storedStatus(object)
	if len(status.Conditions) == 0 && s.status != nil {
		status = *s.status.DeepCopy()
	}
	status.ObservedGeneration = object.GetGeneration()
	status.Parents = v.parents
	if !v.idle {
		status.ScriptRevision = v.revision
	}
	for _, condition := range v.conditions {
		condition.ObservedGeneration = object.GetGeneration()
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

// sendStatus writes a status, if the kind of definition has one: metacontroller's
// CustomResourceDefinitions, say, need not.
func (r *Reconciler) sendStatus(ctx context.Context, object *unstructured.Unstructured, status v1alpha1.DefinitionStatus) error {
	resource, err := r.config.Discovery.Find(v1alpha1.GroupVersion.String(), definitionKinds[object.GetKind()])
	if err != nil || !resource.HasStatus {
		return nil // follow has told so.
	}
	desired, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	_, err = r.status.Write(ctx, resource, object, desired)
	return err
}

// writeNotHosted tells on a definition that this host has let go of it, unless another
// has told something since. What that one tells later replaces it.
func (r *Reconciler) writeNotHosted(ctx context.Context, object *unstructured.Unstructured, s *runtimeState) error {
	status, told := s.notHostedStatus(object, r.config.Target.String())
	if !told {
		return nil
	}
	return r.sendStatus(ctx, object, status)
}

// statusWhenLetGo returns the status of a definition whose labels the selector no longer
// matches, and reports whether it is to be written: the last condition Ready is this host's.
func (s *runtimeState) notHostedStatus(object *unstructured.Unstructured, selector string) (v1alpha1.DefinitionStatus, bool) {
	status := storedStatus(object)
	if s.status == nil || !sameCondition(meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(s.status.Conditions, v1alpha1.ConditionReady)) {
		return status, false
	}
	status.Parents = nil
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: metav1.ConditionUnknown, Reason: reasonNotHosted, ObservedGeneration: object.GetGeneration(),
		Message: fmt.Sprintf("the host that ran it has let go of it, as --target-label-selector=%s does not select its labels: no parent is synced unless another host takes it on", selector),
	})
	return status, true
}

// sameCondition compares conditions as they are stored, with whole seconds.
func sameCondition(a, b *metav1.Condition) bool {
	if a == nil || b == nil {
		return false
	}
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message && a.ObservedGeneration == b.ObservedGeneration &&
		a.LastTransitionTime.Unix() == b.LastTransitionTime.Unix()
}

// storedStatus is the status that an object has, or an empty one for what is none.
func storedStatus(object *unstructured.Unstructured) v1alpha1.DefinitionStatus {
	current := struct {
		Status v1alpha1.DefinitionStatus `json:"status"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": object.Object["status"]}, &current); err != nil {
		return v1alpha1.DefinitionStatus{}
	}
	return current.Status
}
