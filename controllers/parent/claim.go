package parent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// claimed sorts candidates by what is to become of them.
type claimResult struct{ owned, adopt, release []*unstructured.Unstructured }

// claimChildren decides which candidates are children of parent, by the rules
// of section 3.4 of the specification: what is owned and matches is a child;
// what is owned and does not match is released; what matches and has no owner is
// adopted. A parent that is being deleted neither adopts nor releases, and
// nothing adopts what is being deleted.
func claimChildren(parent *unstructured.Unstructured, claim variant.Claim, candidates []*unstructured.Unstructured) claimResult {
	var c claimResult
	deleting := parent.GetDeletionTimestamp() != nil
	for _, candidate := range candidates {
		owner := informer.ControllerOf(candidate)
		matches := claim.Selector == nil || claim.Selector.Matches(labels.Set(candidate.GetLabels()))
		switch {
		case candidate.GetUID() == parent.GetUID():
			// Parents may be of a kind that children are of, and match themselves.
		case owner != nil && owner.UID != parent.GetUID():
			// It has changed hands since the candidates were looked up.
		case owner != nil && claim.Marked != nil && !claim.Marked(candidate):
			// Another definition made it for the same parent.
		case owner != nil && (matches || deleting):
			c.owned = append(c.owned, candidate)
		case owner != nil:
			c.release = append(c.release, candidate)
		case claim.Selector != nil && matches && !deleting && candidate.GetDeletionTimestamp() == nil:
			c.adopt = append(c.adopt, candidate)
		}
	}
	return c
}
