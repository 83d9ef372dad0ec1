package parent

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// renewFunc returns a change recomputed for the live object, or nil if it is not needed any
// more.
type renewFunc func(change apply.Change, live *unstructured.Unstructured) (*apply.Change, error)

// renewChild returns a renewFunc for children. It applies the rules of claiming and computes the
// difference again. It is safe for concurrent use.
func (p *pass) renewChild(desired variant.Desired) renewFunc {
	return func(change apply.Change, live *unstructured.Unstructured) (*apply.Change, error) {
		fields, _, err := unstructured.NestedSlice(live.Object, "metadata", "managedFields")
		if err != nil {
			return nil, err
		}
		live = variant.WithMetadata(live)
		live.SetManagedFields(nil) // Like cached objects.
		claimed := claims.Children(p.parent, p.claim, []*unstructured.Unstructured{live})
		switch {
		case change.Action == apply.ActionAdopt, change.Action == apply.ActionRelease:
			return p.renewOwnership(change, live, claimed), nil
		case len(claimed.Owned) == 0:
			return nil, nil
		}
		input := apply.Input{
			Owner: p.owner(), Rules: p.rules, Observed: claimed.Owned,
			ManagedFields: func(*unstructured.Unstructured) []any { return fields },
		}
		for _, child := range desired.Children {
			if apply.KeyOf(child) == change.Key {
				input.Desired = append(input.Desired, child)
			}
		}
		changes, err := apply.Diff(input)
		if err != nil || len(changes) == 0 {
			return nil, err
		}
		return &changes[0], nil
	}
}

// renewOwnership returns the adoption or release recomputed for live, or nil if change is
// neither or live is claimed differently.
func (p *pass) renewOwnership(change apply.Change, live *unstructured.Unstructured, claimed claims.Result) *apply.Change {
	var renewed apply.Change
	switch {
	case change.Action == apply.ActionAdopt && len(claimed.Adopt) > 0:
		renewed = apply.Adopt(live, p.owner(), change.Resource)
	case change.Action == apply.ActionRelease && len(claimed.Release) > 0:
		renewed = apply.Release(live, p.owner(), change.Resource)
	default:
		return nil
	}
	return &renewed
}

// renewRevision recomputes deletions of ControllerRevisions. It returns nil for an update: that
// depends on the content of the revision, so that the next pass has to observe it first.
func (p *pass) renewRevision(change apply.Change, live *unstructured.Unstructured) (*apply.Change, error) {
	claimed := claims.Children(p.parent, variant.Claim{}, []*unstructured.Unstructured{live})
	if change.Action != apply.ActionDelete || len(claimed.Owned) == 0 {
		return nil, nil
	}
	change.Object, change.Observed = live, live
	return &change, nil
}
