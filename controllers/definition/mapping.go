package definition

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/mapping"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// mapping resolves a MapController.
func (p Planner) mapping(object *unstructured.Unstructured) (*Plan, error) {
	definition := &v1alpha1.MapController{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return nil, err
	}
	spec := &definition.Spec
	if spec.Hooks == nil || spec.Hooks.Map == nil {
		return nil, errors.New("spec.hooks.map: is required")
	}
	hooks := spec.Hooks.Defined()
	parents, err := p.parentRule(spec.ParentResource)
	if err != nil {
		return nil, fmt.Errorf("spec.parentResource: %w", err)
	}
	inputs, err := p.inputRules(spec.InputResources)
	if err != nil {
		return nil, err
	}
	outputs, err := p.children("outputResources", spec.DefinitionSettings, len(spec.OutputResources), func(i int) childRule {
		rule := spec.OutputResources[i]
		return childRule{rule.ResourceRule, rule.ApplySettings, rule.UpdateMethod()}
	})
	if err != nil {
		return nil, err
	}
	shown := withEmptyStatus(object)
	return &Plan{
		Hooks: hooks, Settings: spec.DefinitionSettings,
		Config: parent.Config{
			Variant: mapping.New(mapping.Config{Definition: shown, Spec: *spec, Inputs: inputs, Outputs: outputs}),
			Parents: []variant.ParentRule{parents}, Children: outputs, Inputs: inputs,
			Finalizing: parent.Finalizing{Name: definition.Finalizer(), Enabled: spec.Hooks.Finalize != nil},
			Customize:  p.customize(hooks, shown),
			Selector:   mapping.SelectorOf, SelectorIndex: mapping.SelectorIndex,
		},
	}, nil
}

func (p Planner) inputRules(given []v1alpha1.MapInputRule) ([]variant.InputRule, error) {
	found := make([]variant.InputRule, len(given))
	for i, rule := range given {
		resource, err := p.Find(rule.APIVersion, rule.Resource)
		if err != nil {
			return nil, fmt.Errorf("spec.inputResources[%d]: %w", i, err)
		}
		found[i].Resource = resource
	}
	return mapping.InputRules(given, found)
}
