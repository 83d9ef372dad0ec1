package composite

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// hook is how one of the hooks is asked and its answer read. Each has a version
// of its own (section 2.5 of the specification).
type hook struct {
	name     v1alpha1.HookName
	response variant.ResponseRules
	relative bool
}

func newHook(name v1alpha1.HookName, given *v1alpha1.Hook, children bool) hook {
	return hook{
		name:     name,
		response: variant.RulesFor(given, children, "status", "children", "resyncAfterSeconds", "finalized"),
		relative: given.WireVersion() == v1alpha1.HookV1,
	}
}

// asked is the hook that is asked in this pass.
func (v *Variant) hookFor(observed variant.Observed) hook {
	if observed.Finalizing && v.finalize.name != "" {
		return v.finalize
	}
	return v.sync
}

// call asks about p, which is the parent or an earlier state of it. Children and
// related objects are those of the parent as it is.
func (v *Variant) call(observed variant.Observed, p *unstructured.Unstructured, subject string) variant.Call {
	h, namespace := v.hookFor(observed), observed.Parent.GetNamespace()
	return variant.Call{
		Hook:    string(h.name),
		Subject: subject,
		Request: map[string]any{
			"controller": v.config.Definition,
			"parent":     p.Object,
			"children":   variant.Grouped(observed.Children, v.children.Kinds(), namespace, h.relative),
			"related":    variant.Grouped(observed.Related, observed.RelatedKinds, namespace, h.relative),
			"finalizing": observed.Finalizing,
		},
	}
}

// read reads one answer.
func (v *Variant) readResponse(answer variant.Answer, observed variant.Observed, finish variant.FinishFunc) (variant.Desired, error) {
	response := variant.ReadResponse(answer, v.hookFor(observed).response)
	desired := variant.Desired{
		Children:           v.children.Objects(response, observed.Parent, finish),
		Status:             statusFor(observed, response.Map("status")),
		ResyncAfterSeconds: response.Seconds("resyncAfterSeconds"),
		Finalized:          response.Bool("finalized"),
	}
	return desired, response.Err()
}

// statusFor returns a copy of the hook's status with the generation that the answer was made
// for. A built-in parent has another controller, to which that field belongs: its status is
// what the hook names, or nil.
func statusFor(observed variant.Observed, given map[string]any) map[string]any {
	switch {
	case !observed.BuiltIn:
		return variant.MergeFields(given, map[string]any{"observedGeneration": observed.Parent.GetGeneration()})
	case given == nil:
		return nil
	default:
		return variant.MergeFields(given, nil)
	}
}
