// Package mapping implements the variant for MapControllers: which objects are the inputs of
// a parent, which of its children were made of which input, what the hooks are sent about
// each input, and how their responses make up one desired state.
package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Config is a MapController and its resources.
type Config struct {
	// Definition is the object as requests carry it.
	Definition map[string]any
	Spec       v1alpha1.MapControllerSpec
	// Inputs and Outputs are the resolved rules of the spec.
	Inputs  []variant.InputRule
	Outputs []variant.ChildRule
}

// Variant is the map's part of a reconcile. It is stateless.
type Variant struct {
	definition                  unstructured.Unstructured
	mark                        variant.Mark
	outputs                     *variant.Placement
	mapped, tombstone, finalize *variant.Hook
	inputNames, outputNames     map[schema.GroupKind]string
}

// New returns the variant of one definition, which must have a map hook.
func New(config Config) *Variant {
	hooks := v1alpha1.MapHooks{}
	if config.Spec.Hooks != nil {
		hooks = *config.Spec.Hooks
	}
	newHook := func(name v1alpha1.HookName, given *v1alpha1.MapHook, fields ...string) *variant.Hook {
		fields = append([]string{"outputs", variant.WaitingField, variant.EventsField, "resyncAfterSeconds"}, fields...)
		return variant.NewHook(name, given.Hook(), len(config.Outputs) > 0, fields...)
	}
	definition := unstructured.Unstructured{Object: config.Definition}
	return &Variant{
		definition:  definition,
		mark:        variant.Mark{Annotation: v1alpha1.MapAnnotation, Name: v1alpha1.UniqueName(&definition)},
		outputs:     variant.NewPlacement("outputs", "outputResources", config.Outputs),
		mapped:      newHook(v1alpha1.MapHookName, hooks.Map),
		tombstone:   newHook(v1alpha1.TombstoneHook, hooks.Tombstone),
		finalize:    newHook(v1alpha1.FinalizeHook, hooks.Finalize, "status", "finalized"),
		inputNames:  resourceNames(config.Inputs, func(r variant.InputRule) discovery.Resource { return r.Resource }),
		outputNames: resourceNames(config.Outputs, func(r variant.ChildRule) discovery.Resource { return r.Resource }),
	}
}

// Claim identifies outputs by their owner and the marks on them. A map neither adopts nor
// releases.
func (v *Variant) Claim(*unstructured.Unstructured) (variant.Claim, error) {
	return variant.Claim{Marked: v.hasMarks, Mark: v.mark}, nil
}

// Calls returns a call of the map hook for each input, and one of the tombstone hook for
// each input that is gone and has outputs, or one of the finalize hook for all outputs.
// It returns none for a parent that is being deleted if there is no finalize hook: garbage
// collection deletes its outputs.
func (v *Variant) Calls(observed variant.Observed) ([]variant.Call, error) {
	switch {
	case observed.Finalizing && v.finalize != nil:
		return []variant.Call{v.finalizeCall(observed)}, nil
	case observed.Finalizing || observed.Deleting():
		return nil, nil
	}
	return v.calls(observed), nil
}

// Desired makes one desired state of the answers.
func (v *Variant) Desired(observed variant.Observed, answers []variant.Answer) (variant.Desired, error) {
	switch {
	case observed.Finalizing && v.finalize != nil:
		return v.readFinalizeAnswer(observed, answers[0])
	case observed.Finalizing || observed.Deleting():
		kept, status := variant.KeysOf(observed.Children), v.status(observed, nil, true)
		return variant.Desired{Keep: kept, Status: status, StatusOrigin: variant.StatusMerged}, nil
	}
	return v.mergeResults(observed, v.results(observed, answers)), nil
}
