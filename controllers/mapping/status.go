package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// status counts inputs and outputs, and merges that into what the parent's
// status holds: other fields, and the counters of other resources, may be those
// of another definition. While a parent is let go its inputs no longer count,
// and what was last said of them stays. The generation is only said to have been
// observed if all went well. A built-in parent has no fields for any of this, and its
// generation is another controller's to tell: its status is what the hook names, or nil.
func (v *Variant) status(observed variant.Observed, given map[string]any, well bool) map[string]any {
	if observed.BuiltIn {
		return given
	}
	status := variant.MergeFields(observed.Parent.Object["status"], given)
	if !observed.Finalizing && !observed.Deleting() {
		status["inputs"] = variant.MergeFields(status["inputs"], counters(v.inputNames, observed.Inputs, false))
	}
	status["outputs"] = variant.MergeFields(status["outputs"], counters(v.outputNames, observed.Children, true))
	if well {
		status["observedGeneration"] = observed.Parent.GetGeneration()
	}
	return status
}

// counters gives {total} for each name, and with conditions the number of
// objects for which each condition is True. A condition is counted, be it at 0,
// as long as any of the objects has it in whatever state.
func counters(names map[schema.GroupKind]string, objects []*unstructured.Unstructured, conditions bool) map[string]any {
	counts := make(map[string]map[string]int64, len(names))
	for _, name := range names {
		counts[name] = map[string]int64{total: 0}
	}
	for _, object := range objects {
		count := counts[names[object.GroupVersionKind().GroupKind()]]
		if count == nil {
			continue // Of no declared kind.
		}
		count[total]++
		if conditions {
			countConditions(count, object)
		}
	}
	return toJSON(counts)
}

// asJSON gives counters the types that JSON decodes to.
func toJSON(counts map[string]map[string]int64) map[string]any {
	result := make(map[string]any, len(counts))
	for name, count := range counts {
		fields := make(map[string]any, len(count))
		for field, n := range count {
			fields[field] = n
		}
		result[name] = fields
	}
	return result
}

// resourceNames gives each kind the name that its counters stand under: the
// plural of its resource, or plural.group where two groups have the same plural.
// It depends on the definition alone, so that it does not change with the objects.
func resourceNames(resources map[schema.GroupKind]schema.GroupResource) map[schema.GroupKind]string {
	sharing := map[string]int{}
	for _, resource := range resources {
		sharing[resource.Resource]++
	}
	names := make(map[schema.GroupKind]string, len(resources))
	for kind, resource := range resources {
		names[kind] = resource.Resource
		if sharing[resource.Resource] > 1 {
			names[kind] = resource.String()
		}
	}
	return names
}

func inputNames(rules []variant.InputRule) map[schema.GroupKind]string {
	resources := map[schema.GroupKind]schema.GroupResource{}
	for _, rule := range rules {
		resources[rule.Kind.GroupKind()] = rule.GroupResource()
	}
	return resourceNames(resources)
}

func outputNames(rules []variant.ChildRule) map[schema.GroupKind]string {
	resources := map[schema.GroupKind]schema.GroupResource{}
	for _, rule := range rules {
		resources[rule.Kind.GroupKind()] = rule.GroupResource()
	}
	return resourceNames(resources)
}
