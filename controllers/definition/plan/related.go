package plan

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// relatedRules resolves what a customize hook may ask for, and what parents name. A hook that is also a script is limited
// like a script, unless the script is only its shadow: then no answer of the script is used.
func (p Planner) relatedRules(plan *Plan, hook *v1alpha1.Hook) (limits parent.RelatedLimits, all []parent.NamedRule, err error) {
	given := plan.Settings.RelatedResources
	limits.RefuseSecrets = hook != nil && hook.Serving() == v1alpha1.ScriptBackend
	if given != nil {
		limits.Declared = []parent.DeclaredRule{}
	}
	for i := range given {
		declared, err := p.declaredRule(&given[i])
		if err != nil {
			return limits, nil, fmt.Errorf("spec.relatedResources[%d]%w", i, err)
		}
		if given[i].NameFrom == nil {
			if hook != nil { // Nobody else asks.
				limits.Declared = append(limits.Declared, declared)
			}
			continue
		}
		named, err := p.namedRule(i, plan, declared, &given[i])
		if err != nil {
			return limits, nil, fmt.Errorf("spec.relatedResources[%d]%w", i, err)
		}
		all = append(all, named)
	}
	return limits, all, nil
}

// namedRule resolves an entry with nameFrom.
func (p Planner) namedRule(
	i int, plan *Plan, declared parent.DeclaredRule, given *v1alpha1.RelatedResourceRule,
) (parent.NamedRule, error) {
	if given.Names != nil || given.LabelSelector != nil || given.NamespaceSelector != nil {
		return parent.NamedRule{}, errors.New(".nameFrom: can't be combined with names or selectors: write two entries")
	}
	found, err := p.Find(given.APIVersion, given.Resource)
	noNamespace := func(rule variant.ParentRule) bool { return !rule.Namespaced }
	if err == nil && found.Namespaced && given.Namespace == "" && slices.ContainsFunc(plan.Config.Parents, noNamespace) {
		return parent.NamedRule{}, fmt.Errorf(": %s", parent.NamespaceRequired(given.Resource))
	}
	named, err := parent.NewNamedRule(i, declared.GroupVersionResource, given)
	if err != nil {
		return named, fmt.Errorf(".nameFrom.fieldPath: %w", err)
	}
	return named, nil
}

// declaredRule resolves an entry of spec.relatedResources. Its resource need not be served, as a hook
// need not ask for it.
func (p Planner) declaredRule(given *v1alpha1.RelatedResourceRule) (parent.DeclaredRule, error) {
	group, err := schema.ParseGroupVersion(given.APIVersion)
	if err != nil {
		return parent.DeclaredRule{}, fmt.Errorf(".apiVersion: %w", err)
	}
	rule := parent.DeclaredRule{
		GroupVersionResource: group.WithResource(given.Resource), Namespace: given.Namespace, Names: given.Names,
	}
	found, err := p.Find(given.APIVersion, given.Resource)
	if err == nil && !found.Namespaced && (given.Namespace != "" || given.NamespaceSelector != nil) {
		return rule, fmt.Errorf(": %s are in no namespace: leave namespace and namespaceSelector out", given.Resource)
	}
	if rule.Labels, err = selectorOf(given.LabelSelector); err != nil {
		return rule, fmt.Errorf(".labelSelector: %w", err)
	}
	if rule.Namespaces, err = selectorOf(given.NamespaceSelector); err != nil {
		return rule, fmt.Errorf(".namespaceSelector: %w", err)
	}
	return rule, nil
}

// selectorOf compiles a selector. It returns nil for nil.
func selectorOf(given *metav1.LabelSelector) (labels.Selector, error) {
	if given == nil {
		return nil, nil
	}
	return metav1.LabelSelectorAsSelector(given)
}
