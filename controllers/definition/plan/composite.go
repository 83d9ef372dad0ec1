package plan

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/composite"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// composite resolves a CompositeController.
func (p Planner) composite(object *unstructured.Unstructured) (*Plan, error) {
	definition, err := decode[v1alpha1.CompositeController](object)
	if err != nil {
		return nil, err
	}
	spec := &definition.Spec
	if spec.Hooks == nil || spec.Hooks.Sync == nil {
		return nil, errors.New("spec.hooks.sync: is required")
	}
	parents, err := p.parentRule(spec.ParentResource.ParentRule)
	if err != nil {
		return nil, fmt.Errorf("spec.parentResource: %w", err)
	}
	writesNoStatus := spec.ParentResource.StatusWrites == v1alpha1.NeverStatusWrites
	parents.HasStatus = parents.HasStatus && !writesNoStatus
	children, err := childRules(p, "childResources", spec.ChildResources, spec.DefinitionSettings)
	if err != nil {
		return nil, err
	}
	composites := composite.New(composite.Config{
		Definition: object.Object, Spec: *spec, Parent: parents.Resource, Children: children,
		RevisionNamespace: Home(&spec.DefinitionSettings, p.RevisionNamespace),
	})
	revisions, err := p.revisions(composites, parents.Resource)
	if err != nil {
		return nil, err
	}
	return &Plan{
		Hooks: spec.Hooks.Defined(), Settings: spec.DefinitionSettings, unchecked: composites.Unchecked(), writesNoStatus: writesNoStatus,
		rollsNoScripts: spec.WantsRollingScripts() && (!spec.RollsScripts() || !composites.Rolling()),
		Config: parent.Config{
			Variant: composites, Parents: []variant.ParentRule{parents}, Children: children,
			Status: parent.StatusWrites{Conditions: spec.ParentResource.StatusConditions == v1alpha1.SyncStatusConditions},
			Revisions: parent.Revisions{
				Resource: revisions, Own: composites.OwnRevisions, Scripts: composites.ScriptRevisions, RollsScripts: composites.RollsScripts,
			},
			Selector: func(o *unstructured.Unstructured) (labels.Selector, error) {
				claim, err := composites.Claim(o)
				return claim.Selector, err
			},
			SelectorIndex: composites.SelectorIndex(),
		},
	}, nil
}

// revisions returns the resource of ControllerRevisions, or nil if the definition needs none.
func (p Planner) revisions(composites *composite.Variant, parents discovery.Resource) (*discovery.Resource, error) {
	if !composites.Rolling() {
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

// parentRule resolves the rule for parents of a composite or a map.
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
