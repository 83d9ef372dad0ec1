package mapping

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// InputRules compiles a definition's spec.inputResources. found has one element for each;
// only its resource needs to be set. An object must match both its rule and the parent's
// selector, see SelectorOf.
func InputRules(given []v1alpha1.MapInputRule, found []variant.InputRule) ([]variant.InputRule, error) {
	rules := make([]variant.InputRule, len(given))
	first := map[schema.GroupKind]int{}
	for i, rule := range found {
		if other, twice := first[rule.Kind.GroupKind()]; twice {
			return nil, fmt.Errorf("spec.inputResources[%d]: %s stand at spec.inputResources[%d] already, in version %s: leave one of the two",
				i, rule.GroupResource(), other, found[other].Kind.Version)
		}
		first[rule.Kind.GroupKind()] = i
		selector, err := newInputSelector(given[i], rule)
		if err != nil {
			return nil, fmt.Errorf("spec.inputResources[%d].%w", i, err)
		}
		rule.Selects, rule.ByNamespace = selector.selects, selector.namespaces != nil
		rules[i] = rule
	}
	return rules, nil
}

// inputSelector is the selectors of one rule.
type inputSelector struct {
	labels     labels.Selector
	namespaces labels.Selector // nil if the rule has none
}

func newInputSelector(given v1alpha1.MapInputRule, rule variant.InputRule) (*inputSelector, error) {
	if given.NamespaceSelector != nil && !rule.Namespaced {
		return nil, fmt.Errorf("namespaceSelector: %s are in no namespace: leave it out", rule.GroupResource())
	}
	s := &inputSelector{labels: labels.Everything()}
	if err := compile(&s.labels, "labelSelector", given.LabelSelector); err != nil {
		return nil, err
	}
	if err := compile(&s.namespaces, "namespaceSelector", given.NamespaceSelector); err != nil {
		return nil, err
	}
	return s, nil
}

// selects reports whether an object is an input of a parent. Inputs of a namespaced parent
// are in its own namespace; for a cluster-scoped one the rule may select namespaces, of
// those that are known: labelsOf returns nil for others, whose labels may be any. The
// parent itself is no input, nor is an object that it owns, so that a map does not consume
// its own outputs (section 9 of the specification).
func (s *inputSelector) selects(p, object *unstructured.Unstructured, labelsOf func(namespace string) labels.Set) bool {
	home, namespace := p.GetNamespace(), object.GetNamespace()
	switch {
	case home != "" && home != namespace:
		return false
	case !s.labels.Empty() && !s.labels.Matches(labels.Set(object.GetLabels())):
		return false
	}
	if home == "" && s.namespaces != nil {
		if set := labelsOf(namespace); set == nil || !s.namespaces.Matches(set) {
			return false
		}
	}
	owner := metav1.GetControllerOfNoCopy(object)
	return object.GetUID() != p.GetUID() && (owner == nil || owner.UID != p.GetUID())
}

// compile replaces the selector, unless given is nil.
func compile(selector *labels.Selector, field string, given *metav1.LabelSelector) error {
	if given == nil {
		return nil
	}
	compiled, err := metav1.LabelSelectorAsSelector(given)
	if err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	*selector = compiled
	return nil
}
