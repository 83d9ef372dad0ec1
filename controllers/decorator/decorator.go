// Package decorator is what makes a DecoratorController: which objects it
// decorates, which of their children are its attachments, what its hooks are
// asked, and what the answers mean.
package decorator

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// Config is a DecoratorController and its resources.
type Config struct {
	// Definition is the object as hooks are shown it.
	Definition map[string]any
	Spec       v1alpha1.DecoratorControllerSpec
	// Attachments are the resolved rules of the spec.
	Attachments []variant.ChildRule
}

// Variant is the decorator's part of a reconcile. It keeps no state.
type Variant struct {
	definition     map[string]any
	name           string
	attachments    *variant.Placement
	sync, finalize *hook
}

// hook is how one hook of the definition is asked and read.
type hook struct {
	name     string
	relative bool
	response variant.ResponseRules
}

// New makes the variant of one definition.
func New(config Config) *Variant {
	hooks := v1alpha1.DecoratorHooks{}
	if config.Spec.Hooks != nil {
		hooks = *config.Spec.Hooks
	}
	attaches := len(config.Attachments) > 0
	definition := unstructured.Unstructured{Object: config.Definition}
	return &Variant{
		definition:  config.Definition,
		name:        definition.GetName(),
		attachments: variant.NewPlacement("attachments", config.Attachments),
		sync:        newHook(v1alpha1.SyncHook, hooks.Sync, attaches),
		finalize:    newHook(v1alpha1.FinalizeHook, hooks.Finalize, attaches),
	}
}

// newHook gives nil for a hook that the definition does not have.
func newHook(name v1alpha1.HookName, given *v1alpha1.Hook, attaches bool) *hook {
	if given == nil {
		return nil
	}
	return &hook{
		name:     string(name),
		relative: given.WireVersion() == v1alpha1.HookV1,
		response: variant.RulesFor(given, attaches, "labels", "annotations", "status", "attachments", "resyncAfterSeconds", "finalized"),
	}
}

// asked is the hook that a pass asks, or nil where the definition has none: one
// that has a finalize hook alone leaves living objects as they are.
func (v *Variant) asked(observed variant.Observed) *hook {
	if observed.Finalizing {
		return v.finalize
	}
	return v.sync
}

// Claim tells attachments by their owner and the marker (section 3.4 of the
// specification). A decorator neither adopts nor releases.
func (v *Variant) Claim(*unstructured.Unstructured) (variant.Claim, error) {
	return variant.Claim{Marked: v.marks, Mark: variant.Mark{Annotation: v1alpha1.DecoratorAnnotation, Name: v.name}}, nil
}

// Calls asks the sync hook, or the finalize hook (section 2.3 of the specification).
func (v *Variant) Calls(observed variant.Observed) ([]variant.Call, error) {
	hook := v.asked(observed)
	if hook == nil {
		return nil, nil
	}
	namespace := observed.Parent.GetNamespace()
	return []variant.Call{{
		Hook: hook.name,
		Request: map[string]any{
			"controller":  v.definition,
			"object":      observed.Parent.Object,
			"attachments": variant.Grouped(observed.Children, v.attachments.Kinds(), namespace, hook.relative),
			"related":     variant.Grouped(observed.Related, observed.RelatedKinds, namespace, hook.relative),
			"finalizing":  observed.Finalizing,
		},
	}}, nil
}
