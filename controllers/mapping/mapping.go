// Package mapping is what makes a MapController: which objects are the inputs of
// a parent, which of its children were made of which input, what the hooks are
// asked about each, and what the answers mean together.
package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// Config is a MapController and its resources.
type Config struct {
	// Definition is the object as hooks are shown it.
	Definition map[string]any
	Spec       v1alpha1.MapControllerSpec
	// Inputs and Outputs are the resolved rules of the spec.
	Inputs  []variant.InputRule
	Outputs []variant.ChildRule
}

// Variant is the map's part of a reconcile. It keeps no state.
type Variant struct {
	definition                  unstructured.Unstructured
	outputs                     *variant.Placement
	mapped, tombstone, finalize *variant.ResponseRules
	inputNames, outputNames     map[schema.GroupKind]string
}

// New makes the variant of one definition, which must have a map hook.
func New(config Config) *Variant {
	hooks := v1alpha1.MapHooks{}
	if config.Spec.Hooks != nil {
		hooks = *config.Spec.Hooks
	}
	makes := len(config.Outputs) > 0
	return &Variant{
		definition:  unstructured.Unstructured{Object: config.Definition},
		outputs:     variant.NewPlacement("outputs", config.Outputs),
		mapped:      responseRules(hooks.Map, makes, "outputs", "resyncAfterSeconds"),
		tombstone:   responseRules(hooks.Tombstone, makes, "outputs", "resyncAfterSeconds"),
		finalize:    responseRules(hooks.Finalize, makes, "outputs", "status", "resyncAfterSeconds", "finalized"),
		inputNames:  inputNames(config.Inputs),
		outputNames: outputNames(config.Outputs),
	}
}

// responseRules gives nil for a hook that the definition does not have.
func responseRules(given *v1alpha1.MapHook, makes bool, fields ...string) *variant.ResponseRules {
	if given == nil {
		return nil
	}
	rules := variant.RulesFor(given.Hook(), makes, fields...)
	return &rules
}

// Claim tells outputs by their owner and the marks on them. A map neither adopts
// nor releases.
func (v *Variant) Claim(*unstructured.Unstructured) (variant.Claim, error) {
	return variant.Claim{Marked: v.ownedBy, Mark: variant.Mark{Annotation: v1alpha1.MapAnnotation, Name: v.definition.GetName()}}, nil
}

// Calls asks the map hook about each input, and the tombstone hook about each
// group of outputs whose input is gone; or the finalize hook about all of them.
// For a parent that is being deleted without a finalize hook there is nothing to
// ask: its outputs go with it.
func (v *Variant) Calls(observed variant.Observed) ([]variant.Call, error) {
	switch {
	case observed.Finalizing && v.finalize != nil:
		return []variant.Call{v.finalizeCall(observed)}, nil
	case observed.Finalizing || observed.Deleting():
		return nil, nil
	}
	return v.calls(observed), nil
}

// Desired puts the answers together.
func (v *Variant) Desired(observed variant.Observed, answers []variant.Answer) (variant.Desired, error) {
	switch {
	case observed.Finalizing && v.finalize != nil:
		return v.readFinalizeAnswer(observed, answers[0])
	case observed.Finalizing || observed.Deleting():
		return variant.Desired{Keep: keysOf(observed.Children), Status: v.status(observed, nil, true), StatusMerged: true}, nil
	}
	return v.mergeResults(observed, v.results(observed, answers)), nil
}
