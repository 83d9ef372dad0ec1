package parent

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
)

// appliedFields returns the entries of a child's managedFields that this program has applied.
func (r *shared) appliedFields(child *unstructured.Unstructured) []any {
	if fields := r.pendingWrites.Fields(child); fields != nil {
		return fields
	}
	at := slices.IndexFunc(r.children, func(source childSource) bool { return source.Kind == child.GroupVersionKind() })
	if at < 0 {
		return nil
	}
	return r.children[at].cache.AppliedFields(child)
}

// isUpToDate reports whether applying desired leaves observed unchanged.
func (p *pass) isUpToDate(observed, desired *unstructured.Unstructured) (bool, error) {
	at := slices.IndexFunc(p.rules, func(rule apply.Rule) bool { return rule.Kind == desired.GroupVersionKind() })
	if at < 0 {
		return false, nil // Can not happen: all children are of declared kinds.
	}
	return p.rules[at].UpToDate(observed, desired, p.owner(), p.appliedFields(observed))
}
