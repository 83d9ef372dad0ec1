package parent

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// writeStatusAgain writes the status after a conflict, to the parent as the API server has
// it, if the hooks would be asked the same about that: somebody else has changed no more
// than the status and the API server's bookkeeping. Else it gives the conflict.
func (p *pass) writeStatusAgain(ctx context.Context, desired variant.Desired, conflict error) (*unstructured.Unstructured, error) {
	live, err := p.live(ctx, p.parent, p.source)
	if err != nil {
		return nil, err
	}
	status := desired.Status
	same := sameSpec(p.parent, live) &&
		maps.Equal(p.parent.GetLabels(), live.GetLabels()) && maps.Equal(p.parent.GetAnnotations(), live.GetAnnotations())
	if same && desired.StatusMerged {
		status, same = rebase(statusOf(p.parent), desired.Status, statusOf(live))
	}
	if !same {
		return nil, conflict
	}
	p.wroteParent(live)
	return p.status.Write(ctx, p.source.Resource, live, status)
}

// rebase gives live with what desired changes in base, and false if live has another
// change in the same place.
func rebase(base, desired, live map[string]any) (map[string]any, bool) {
	merged := make(map[string]any, len(live))
	maps.Copy(merged, live)
	for _, fields := range []map[string]any{base, desired} {
		for field := range fields {
			value, ok := rebaseValue(base[field], desired[field], live[field])
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

// rebaseValue is rebase for one field; what is absent is nil.
func rebaseValue(base, desired, live any) (any, bool) {
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
	return rebase(from, to, now)
}
