package plan

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/mapping"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// mapping resolves a MapController.
func (p Planner) mapping(object *unstructured.Unstructured) (*Plan, error) {
	definition, err := decode[v1alpha1.MapController](object)
	if err != nil {
		return nil, err
	}
	spec := &definition.Spec
	if spec.Hooks == nil || spec.Hooks.Map == nil {
		return nil, errors.New("spec.hooks.map: is required")
	}
	parents, err := p.parentRule(spec.ParentResource)
	if err != nil {
		return nil, fmt.Errorf("spec.parentResource: %w", err)
	}
	inputs, err := p.inputRules(spec.InputResources)
	if err != nil {
		return nil, err
	}
	outputs, err := childRules(p, "outputResources", spec.OutputResources, spec.DefinitionSettings)
	if err != nil {
		return nil, err
	}
	return &Plan{
		Hooks: spec.Hooks.Defined(), Settings: spec.DefinitionSettings,
		Config: parent.Config{
			Variant: mapping.New(mapping.Config{Definition: object.Object, Spec: *spec, Inputs: inputs, Outputs: outputs}),
			Parents: []variant.ParentRule{parents}, Children: outputs, Inputs: inputs,
			Selector: mapping.SelectorOf, SelectorIndex: mapping.SelectorIndex,
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
