package composite

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// rollingStrategies returns the update strategies of the kinds with a rolling method.
func rollingStrategies(config Config) map[schema.GroupKind]*v1alpha1.ChildUpdateStrategy {
	strategies := map[schema.GroupKind]*v1alpha1.ChildUpdateStrategy{}
	for _, child := range config.Children {
		for i := range config.Spec.ChildResources {
			if rule := &config.Spec.ChildResources[i]; matchesRule(rule, child) && rule.UpdateMethod().IsRolling() {
				strategies[child.Kind.GroupKind()] = rule.UpdateStrategy
			}
		}
	}
	return strategies
}

func matchesRule(rule *v1alpha1.CompositeChildRule, child variant.ChildRule) bool {
	return rule.APIVersion == child.GroupVersion().String() && rule.Resource == child.GroupVersionResource.Resource
}

// maxUnavailable returns the number of children that may be unavailable, of so many desired
// ones.
func maxUnavailable(s *v1alpha1.ChildUpdateStrategy, desired int) int {
	if s.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(s.MaxUnavailable, desired, false)
	if err != nil {
		return 1
	}
	return max(n, 1)
}

// partition returns how many children keep their revision: those that would be updated last.
func partition(s *v1alpha1.ChildUpdateStrategy) int {
	if s.Partition == nil {
		return 0
	}
	return int(*s.Partition)
}

func paused(s *v1alpha1.ChildUpdateStrategy) bool { return s.Paused != nil && *s.Paused }
