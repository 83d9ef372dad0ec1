package parent

import (
	"context"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// maxConflictRetries is how often one write of a parent is tried again after a conflict: each attempt is a race with other writers.
const maxConflictRetries = 5

// retryStatus writes the status after a conflict to the live parent if other writers have changed
// only metadata and status. A change of labels or annotations causes another pass anyway.
// Otherwise it returns the conflict.
func (p *pass) retryStatus(ctx context.Context, desired variant.Desired, conflict error) (*unstructured.Unstructured, error) {
	observed := p.parent
	for range maxConflictRetries {
		live, err := p.live(ctx, observed, p.source)
		if err != nil {
			return nil, err
		}
		status := desired.Status
		same := sameSpec(observed, live)
		if same && desired.StatusOrigin == variant.StatusMerged && p.source.Custom {
			status, same = threeWayMerge(statusOf(observed), desired.Status, statusOf(live))
		}
		if !same {
			return nil, conflict
		}
		p.setParent(live)
		updated, err := p.status.Write(ctx, p.source.Resource, live, status)
		if !apierrors.IsConflict(err) {
			return updated, err
		}
		conflict = err
	}
	return nil, conflict
}

// threeWayMerge returns live with the changes from base to desired, and false if live has
// another change in the same place.
func threeWayMerge(base, desired, live map[string]any) (map[string]any, bool) {
	merged := make(map[string]any, len(live))
	maps.Copy(merged, live)
	for _, fields := range []map[string]any{base, desired} {
		for field := range fields {
			value, ok := threeWayMergeValue(base[field], desired[field], live[field])
			switch {
			case !ok:
				return nil, false
			case value == nil:
				delete(merged, field)
			default:
				merged[field] = value
			}
		}
	}
	return merged, true
}

// threeWayMergeValue is threeWayMerge for one field. An absent field is nil.
func threeWayMergeValue(base, desired, live any) (any, bool) {
	switch {
	case jsonvalue.Equal(base, desired), jsonvalue.Equal(desired, live):
		return live, true
	case jsonvalue.Equal(base, live):
		return desired, true
	}
	from, _ := base.(map[string]any)
	to, isObject := desired.(map[string]any)
	now, wasObject := live.(map[string]any)
	if !isObject || !wasObject || from == nil && base != nil {
		return nil, false
	}
	return threeWayMerge(from, to, now)
}
