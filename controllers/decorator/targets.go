package decorator

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// Targets selects the objects of one resource that a definition decorates: those that
// match any of its rules for the resource. metacontroller uses only the last rule
// (section 1.2 of the specification).
type Targets struct {
	v1alpha1.ResourceRule
	// Field is the path of the first rule.
	Field string
	rules []targetRule
}

// targetRule is one rule. Both selectors have to match.
type targetRule struct {
	labels, annotations labels.Selector
	ignoreStatus        bool
}

// NewTargets compiles the rules of a definition's spec.resources. It returns one element
// for each resource, in the order of their first rules. A resource that is listed in several
// versions is watched in the first one.
func NewTargets(rules []v1alpha1.DecoratorTargetRule) ([]*Targets, error) {
	var all []*Targets
	byResource := map[string]*Targets{}
	for i, given := range rules {
		field := fmt.Sprintf("spec.resources[%d]", i)
		rule, err := newTargetRule(given)
		if err != nil {
			return nil, fmt.Errorf("%s.%w", field, err)
		}
		name := unversioned(given.ResourceRule)
		targets := byResource[name]
		if targets == nil {
			targets = &Targets{ResourceRule: given.ResourceRule, Field: field}
			byResource[name] = targets
			all = append(all, targets)
		}
		targets.rules = append(targets.rules, rule)
	}
	return all, nil
}

// Selects reports whether the definition decorates an object.
func (t *Targets) Selects(object *unstructured.Unstructured) bool {
	for i := range t.rules {
		if t.rules[i].selects(object) {
			return true
		}
	}
	return false
}

// IgnoresStatus reports whether at least one rule selects the object and all that do have
// ignoreStatusChanges (section 1.2 of the specification).
func (t *Targets) IgnoresStatus(object *unstructured.Unstructured) bool {
	selected := false
	for i := range t.rules {
		if !t.rules[i].selects(object) {
			continue
		}
		if !t.rules[i].ignoreStatus {
			return false
		}
		selected = true
	}
	return selected
}

func (r *targetRule) selects(object *unstructured.Unstructured) bool {
	return (r.labels.Empty() || r.labels.Matches(labels.Set(object.GetLabels()))) &&
		(r.annotations.Empty() || r.annotations.Matches(labels.Set(object.GetAnnotations())))
}

// newTargetRule compiles one rule. Annotations are matched by a label selector
// (section 1.2 of the specification).
func newTargetRule(rule v1alpha1.DecoratorTargetRule) (targetRule, error) {
	byLabels, err := selectorOf("labelSelector", rule.LabelSelector)
	if err != nil {
		return targetRule{}, err
	}
	var given *metav1.LabelSelector
	if a := rule.AnnotationSelector; a != nil {
		given = &metav1.LabelSelector{MatchLabels: a.MatchAnnotations, MatchExpressions: a.MatchExpressions}
	}
	byAnnotations, err := selectorOf("annotationSelector", given)
	if err != nil {
		return targetRule{}, err
	}
	ignore := rule.IgnoreStatusChanges != nil && *rule.IgnoreStatusChanges
	return targetRule{labels: byLabels, annotations: byAnnotations, ignoreStatus: ignore}, nil
}

// selectorOf compiles a selector. An absent one selects everything.
func selectorOf(field string, given *metav1.LabelSelector) (labels.Selector, error) {
	if given == nil {
		return labels.Everything(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(given)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", field, err)
	}
	return selector, nil
}

// unversioned returns "deployments.apps", or "pods." for the core group.
func unversioned(rule v1alpha1.ResourceRule) string {
	group, _, found := strings.Cut(rule.APIVersion, "/")
	if !found {
		group = ""
	}
	return rule.Resource + "." + group
}
