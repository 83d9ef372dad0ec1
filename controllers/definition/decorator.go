package definition

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/decorator"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// decorator resolves a DecoratorController.
func (p Planner) decorator(object *unstructured.Unstructured) (*Plan, error) {
	definition := &v1alpha1.DecoratorController{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return nil, err
	}
	spec := &definition.Spec
	if spec.Hooks == nil || spec.Hooks.Sync == nil && spec.Hooks.Finalize == nil {
		return nil, errors.New("spec.hooks.sync: is required")
	}
	hooks := spec.Hooks.Defined()
	targets, err := decorator.NewTargets(spec.Resources)
	if err != nil {
		return nil, err
	}
	parents, err := p.targetRules(targets)
	if err != nil {
		return nil, err
	}
	attachments, err := p.children("attachments", spec.DefinitionSettings, len(spec.Attachments), func(i int) childRule {
		rule := spec.Attachments[i]
		return childRule{rule.ResourceRule, rule.ApplySettings, rule.UpdateMethod()}
	})
	if err != nil {
		return nil, err
	}
	shown := withEmptyStatus(object)
	return &Plan{
		Hooks: hooks, Settings: spec.DefinitionSettings,
		Config: parent.Config{
			Variant: decorator.New(decorator.Config{Definition: shown, Spec: *spec, Attachments: attachments}),
			Parents: parents, Children: attachments,
			Finalizing: parent.Finalizing{Name: definition.Finalizer(), Enabled: spec.Hooks.Finalize != nil, AppliesLast: true},
			Customize:  p.customize(hooks, shown), StatusWithObject: true,
		},
	}, nil
}

// targetRules resolves the resources that are decorated.
func (p Planner) targetRules(targets []*decorator.Targets) ([]variant.ParentRule, error) {
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
