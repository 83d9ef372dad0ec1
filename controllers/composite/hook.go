package composite

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// hookFor returns the hook to call.
func (v *Variant) hookFor(observed variant.Observed) *variant.Hook {
	if observed.Finalizing && v.finalize != nil {
		return v.finalize
	}
	return v.sync
}

// call returns the call about p, the parent or its state at a revision, which is answered by the scripts of that
// revision. Children and related objects are those of the parent in its present state.
func (v *Variant) call(observed variant.Observed, p *unstructured.Unstructured, at *revision) variant.Call {
	h, namespace := v.hookFor(observed), observed.Parent.GetNamespace()
	var subject, scripts string
	if at != nil {
		subject = at.name
		if at.hasOtherScripts(observed) {
			scripts = at.scripts
		}
	}
	return variant.Call{
		Hook: h.Name, Subject: subject, ScriptRevision: scripts,
		Request: map[string]any{
			"controller": v.config.Definition,
			"parent":     p.Object,
			"children":   variant.Grouped(observed.Children, v.children.Kinds(), namespace, h.Relative),
			"related":    variant.Grouped(observed.Related, observed.RelatedKinds, namespace, h.Relative),
			"finalizing": observed.Finalizing,
		},
	}
}

// readResponse reads one answer.
func (v *Variant) readResponse(answer variant.Answer, observed variant.Observed, finish variant.FinishFunc) (variant.Desired, error) {
	response := variant.ReadResponse(answer, v.hookFor(observed).Response)
	desired := variant.Desired{
		Children:           v.children.Objects(response, observed.Parent, finish),
		ResyncAfterSeconds: response.Seconds("resyncAfterSeconds"),
		Finalized:          response.Bool("finalized"),
		Waiting:            response.Waiting(),
	}
	given := response.Map("status")
	if desired.Status = v.statusFor(observed, given); given == nil {
		desired.StatusOrigin = variant.StatusImplied
	}
	desired.Events, desired.MoreEvents = response.Events()
	return desired, response.Err()
}

// statusFor returns a copy of the hook's status with observedGeneration. For a built-in parent
// that field belongs to another controller: its status is what the hook returned, or nil.
func (v *Variant) statusFor(observed variant.Observed, given map[string]any) map[string]any {
	switch {
	case given == nil && (observed.BuiltIn || v.config.Spec.ParentResource.StatusWrites == v1alpha1.WhenReturnedStatusWrites):
		return nil
	case observed.BuiltIn:
		return variant.MergeFields(given, nil)
	default:
		return variant.MergeFields(given, map[string]any{"observedGeneration": observed.Parent.GetGeneration()})
	}
}
