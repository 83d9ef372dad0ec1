package plan

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/decorator"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// decorator resolves a DecoratorController.
func (p Planner) decorator(object *unstructured.Unstructured) (*Plan, error) {
	definition, err := decode[v1alpha1.DecoratorController](object)
	if err != nil {
		return nil, err
	}
	spec := &definition.Spec
	if spec.Hooks == nil || spec.Hooks.Sync == nil && spec.Hooks.Finalize == nil {
		return nil, errors.New("spec.hooks.sync: is required")
	}
	parents, err := p.targetRules(spec.Resources)
	if err != nil {
		return nil, err
	}
	attachments, err := childRules(p, "attachments", spec.Attachments, spec.DefinitionSettings)
	if err != nil {
		return nil, err
	}
	return &Plan{
		Hooks: spec.Hooks.Defined(), Settings: spec.DefinitionSettings,
		Config: parent.Config{
			Variant: decorator.New(decorator.Config{Definition: object.Object, Spec: *spec, Attachments: attachments}),
			Parents: parents, Children: attachments, Status: parent.StatusWrites{WithObject: true},
			Finalizing: parent.Finalizing{AppliesLast: true},
		},
	}, nil
}

// targetRules resolves the resources that are decorated.
func (p Planner) targetRules(given []v1alpha1.DecoratorTargetRule) ([]variant.ParentRule, error) {
	targets, err := decorator.NewTargets(given)
	if err != nil {
		return nil, err
	}
	rules := make([]variant.ParentRule, len(targets))
	for i, t := range targets {
		resource, err := p.Find(t.APIVersion, t.Resource)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.Field, err)
		}
		rules[i] = variant.ParentRule{Resource: resource, Selects: t.Selects, IgnoresStatus: t.IgnoresStatus}
	}
	return rules, nil
}
