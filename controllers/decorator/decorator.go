// Package decorator implements the variant for DecoratorControllers: which objects a
// definition decorates, which of their children are its attachments, what its hooks are
// sent, and how their responses are read.
package decorator

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// Config is a DecoratorController and its resources.
type Config struct {
	// Definition is the object as requests carry it.
	Definition map[string]any
	Spec       v1alpha1.DecoratorControllerSpec
	// Attachments are the resolved rules of the spec.
	Attachments []variant.ChildRule
}

// Variant is the decorator's part of a reconcile. It is stateless.
type Variant struct {
	definition     map[string]any
	mark           variant.Mark
	attachments    *variant.Placement
	sync, finalize *variant.Hook
}

// New returns the variant of one definition.
func New(config Config) *Variant {
	hooks := v1alpha1.DecoratorHooks{}
	if config.Spec.Hooks != nil {
		hooks = *config.Spec.Hooks
	}
	definition := unstructured.Unstructured{Object: config.Definition}
	newHook := func(name v1alpha1.HookName, given *v1alpha1.Hook) *variant.Hook {
		return variant.NewHook(name, given, len(config.Attachments) > 0,
			"labels", "annotations", "status", "attachments", variant.WaitingField, variant.EventsField, "resyncAfterSeconds", "finalized")
	}
	return &Variant{
		definition:  config.Definition,
		mark:        variant.Mark{Annotation: v1alpha1.DecoratorAnnotation, Name: v1alpha1.UniqueName(&definition)},
		attachments: variant.NewPlacement("attachments", "attachments", config.Attachments),
		sync:        newHook(v1alpha1.SyncHook, hooks.Sync),
		finalize:    newHook(v1alpha1.FinalizeHook, hooks.Finalize),
	}
}

// hookFor returns the hook to call, or nil if the definition does not have it: one that has
// only a finalize hook leaves objects alone until they are deleted or no longer match.
func (v *Variant) hookFor(observed variant.Observed) *variant.Hook {
	if observed.Finalizing {
		return v.finalize
	}
	return v.sync
}

// Claim identifies attachments by their owner and the mark: other definitions may make
// attachments for the same object (section 3.4 of the specification). A decorator neither
// adopts nor releases.
func (v *Variant) Claim(*unstructured.Unstructured) (variant.Claim, error) {
	return variant.Claim{Marked: v.mark.IsOn, Mark: v.mark}, nil
}

// Calls returns the call of the sync hook, or of the finalize hook (section 2.3 of the
// specification).
func (v *Variant) Calls(observed variant.Observed) ([]variant.Call, error) {
	hook := v.hookFor(observed)
	if hook == nil {
		return nil, nil
	}
	namespace := observed.Parent.GetNamespace()
	return []variant.Call{{
		Hook: hook.Name,
		Request: map[string]any{
			"controller":  v.definition,
			"object":      observed.Parent.Object,
			"attachments": variant.Grouped(observed.Children, v.attachments.Kinds(), namespace, hook.Relative),
			"related":     variant.Grouped(observed.Related, observed.RelatedKinds, namespace, hook.Relative),
			"finalizing":  observed.Finalizing,
		},
	}}, nil
}
