package plan

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
)

// relatedLimits resolves what a customize hook may ask for. A hook that is also a script is limited
// like a script, unless the script is only its shadow: then no answer of the script is used.
func (p Planner) relatedLimits(given []v1alpha1.RelatedResourceRule, hook *v1alpha1.Hook) (parent.RelatedLimits, error) {
	limits := parent.RelatedLimits{RefuseSecrets: hook != nil && hook.Serving() == v1alpha1.ScriptBackend}
	if given != nil {
		limits.Declared = make([]parent.DeclaredRule, len(given))
	}
	for i := range given {
		declared, err := p.declaredRule(&given[i])
		if err != nil {
			return limits, fmt.Errorf("spec.relatedResources[%d]%w", i, err)
		}
		limits.Declared[i] = declared
	}
	return limits, nil
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
