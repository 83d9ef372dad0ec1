package definition

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/composite"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// composite resolves a CompositeController.
func (p Planner) composite(object *unstructured.Unstructured) (*Plan, error) {
	definition := &v1alpha1.CompositeController{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return nil, err
	}
	spec := &definition.Spec
	if spec.Hooks == nil || spec.Hooks.Sync == nil {
		return nil, errors.New("spec.hooks.sync: is required")
	}
	hooks := spec.Hooks.Defined()
	parents, err := p.parentRule(spec.ParentResource.ParentRule)
	if err != nil {
		return nil, fmt.Errorf("spec.parentResource: %w", err)
	}
	children, err := p.children("childResources", spec.DefinitionSettings, len(spec.ChildResources), func(i int) childRule {
		rule := spec.ChildResources[i]
		return childRule{rule.ResourceRule, rule.ApplySettings, rule.UpdateMethod()}
	})
	if err != nil {
		return nil, err
	}
	shown := withEmptyStatus(object)
	behaviour := composite.New(composite.Config{
		Definition: shown, Spec: *spec, Parent: parents.Resource, Children: children, RevisionNamespace: p.RevisionNamespace,
	})
	revisions, err := p.revisions(behaviour, parents.Resource)
	if err != nil {
		return nil, err
	}
	return &Plan{
		Hooks: hooks, Settings: spec.DefinitionSettings, unchecked: behaviour.Unchecked(),
		Config: parent.Config{
			Variant: behaviour, Parents: []variant.ParentRule{parents}, Children: children, Revisions: revisions, OwnRevisions: behaviour.OwnRevisions,
			Finalizing: parent.Finalizing{Name: definition.Finalizer(), Enabled: spec.Hooks.Finalize != nil},
			Customize:  p.customize(hooks, shown),
			Selector: func(o *unstructured.Unstructured) (labels.Selector, error) {
				claim, err := behaviour.Claim(o)
				return claim.Selector, err
			},
			SelectorIndex: behaviour.SelectorIndex(),
		},
	}, nil
}

// revisions gives the resource that holds how far rollouts are, or nil if the
// definition has none.
func (p Planner) revisions(behaviour *composite.Variant, parents discovery.Resource) (*discovery.Resource, error) {
	if !behaviour.Rolling() {
		return nil, nil
	}
	if !parents.Namespaced && p.RevisionNamespace == "" {
		return nil, errors.New("rolling updates of cluster-scoped parents need a namespace for their ControllerRevisions: set --namespace")
	}
	found, err := p.Find(v1alpha1.GroupVersion.String(), "controllerrevisions")
	if err != nil {
		return nil, fmt.Errorf("rolling updates: %w", err)
	}
	return &found, nil
}

// parentRule resolves the rule that composites and maps have for parents.
func (p Planner) parentRule(rule v1alpha1.ParentRule) (variant.ParentRule, error) {
	resource, err := p.Find(rule.APIVersion, rule.Resource)
	if err != nil {
		return variant.ParentRule{}, err
	}
	selector := labels.Everything()
	if rule.LabelSelector != nil {
		if selector, err = metav1.LabelSelectorAsSelector(rule.LabelSelector); err != nil {
			return variant.ParentRule{}, fmt.Errorf("labelSelector: %w", err)
		}
	}
	ignores := rule.IgnoreStatusChanges != nil && *rule.IgnoreStatusChanges
	return variant.ParentRule{
		Resource: resource,
		Selects: func(o *unstructured.Unstructured) bool {
			return selector.Empty() || selector.Matches(labels.Set(o.GetLabels()))
		},
		IgnoresStatus: func(*unstructured.Unstructured) bool { return ignores },
	}, nil
}
