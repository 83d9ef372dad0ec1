package parent

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
)

// appliedFields gives what is known of an observed child's managedFields, which is what
// this host has applied.
func (r *shared) appliedFields(child *unstructured.Unstructured) []any {
	if fields := r.pendingWrites.fields(child); fields != nil {
		return fields
	}
	at := slices.IndexFunc(r.children, func(source childSource) bool { return source.Kind == child.GroupVersionKind() })
	if at < 0 {
		return nil
	}
	return r.children[at].cache.AppliedFields(child)
}

// upToDate says whether writing desired would leave an observed child as it is.
func (p *pass) isUpToDate(observed, desired *unstructured.Unstructured) (bool, error) {
	at := slices.IndexFunc(p.rules, func(rule apply.Rule) bool { return rule.Kind == desired.GroupVersionKind() })
	if at < 0 {
		return false, nil // There are no children of other kinds.
	}
	return p.rules[at].UpToDate(observed, desired, p.owner(), p.appliedFields(observed))
}
