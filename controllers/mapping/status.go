package mapping

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// waitingCounter is the counter of inputs that wait. It is not there at 0.
const waitingCounter = "waiting"

// status merges the counts of inputs and outputs into the parent's status, whose other fields
// and counters may belong to another definition. While a parent is being finalized or deleted
// the counts of inputs stay as they are. observedGeneration is only set if ok. A built-in
// parent has no fields for this, and its observedGeneration belongs to another controller:
// its status is what the hook returned, or nil.
func (v *Variant) status(observed variant.Observed, given map[string]any, ok bool) map[string]any {
	if observed.BuiltIn {
		return given
	}
	status := variant.MergeFields(observed.Parent.Object["status"], given)
	if !observed.Finalizing && !observed.Deleting() {
		status["inputs"] = variant.MergeFields(status["inputs"], counters(v.inputNames, observed.Inputs, false))
	}
	status["outputs"] = variant.MergeFields(status["outputs"], counters(v.outputNames, observed.Children, true))
	if ok {
		status["observedGeneration"] = observed.Parent.GetGeneration()
	}
	return status
}

// countWaiting adds how many inputs wait to the counters in a status of status, if any do.
func (v *Variant) countWaiting(status map[string]any, results []*result) {
	counts, _ := status["inputs"].(map[string]any)
	for _, r := range results {
		if r.waiting == nil || r.input == nil {
			continue
		}
		if counter, _ := counts[v.inputNames[r.input.GroupVersionKind().GroupKind()]].(map[string]any); counter != nil {
			before, _ := counter[waitingCounter].(int64)
			counter[waitingCounter] = before + 1
		}
	}
}

// counters returns {total} for each name, and with conditions also the number of objects
// for which each condition is True. A condition has a counter if any of the objects has it,
// even if it is True for none.
func counters(names map[schema.GroupKind]string, objects []*unstructured.Unstructured, conditions bool) map[string]any {
	counts := make(map[string]map[string]int64, len(names))
	for _, name := range names {
		counts[name] = map[string]int64{total: 0}
	}
	for _, object := range objects {
		count := counts[names[object.GroupVersionKind().GroupKind()]]
		if count == nil {
			continue // Its kind is not declared.
		}
		count[total]++
		if conditions {
			countConditions(count, object)
		}
	}
	return toJSON(counts)
}

// toJSON converts counters to the types that JSON decodes to.
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

// resourceNames returns the name of the counters of each kind: the plural of its resource, or
// plural.group if two groups have the same plural. It depends only on the definition, so that
// names don't change with the objects.
func resourceNames[R any](rules []R, resourceOf func(R) discovery.Resource) map[schema.GroupKind]string {
	resources := make(map[schema.GroupKind]schema.GroupResource, len(rules))
	for _, rule := range rules {
		r := resourceOf(rule)
		resources[r.Kind.GroupKind()] = r.GroupResource()
	}
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
