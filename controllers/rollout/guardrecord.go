package rollout

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// RecordOf returns what a status says of the guard.
func RecordOf(stored *v1alpha1.DeletionGuardStatus) (record Record) {
	if stored == nil {
		return record
	}
	record.Settled, record.Edit = Edit(stored.Settled), Edit(stored.Edit)
	if stored.Since != nil {
		record.Since = stored.Since.Time
	}
	if stored.Parents == nil || stored.CountedAt == nil {
		return record
	}
	record.Before = &ChildCounts{
		Parents: int(*stored.Parents), At: stored.CountedAt.Time, Children: map[schema.GroupKind]int{}, Recreated: map[schema.GroupKind]int{},
	}
	for _, c := range stored.Children {
		kind := schema.GroupKind{Group: c.Group, Kind: c.Kind}
		if record.Before.Children[kind] = int(c.Count); c.Recreated > 0 {
			record.Before.Recreated[kind] = int(c.Recreated)
		}
	}
	return record
}

// Status returns what the status says of the guard, or nil if nothing has served.
func (r Record) Status() *v1alpha1.DeletionGuardStatus {
	if r.Edit == (Edit{}) {
		return nil
	}
	status := &v1alpha1.DeletionGuardStatus{Settled: v1alpha1.GuardedEdit(r.Settled), Edit: v1alpha1.GuardedEdit(r.Edit)}
	if r.Edit != r.Settled {
		status.Since = new(metav1.NewTime(r.Since.Truncate(time.Second)))
	}
	if r.Before == nil {
		return status
	}
	status.Parents, status.CountedAt = new(int32(r.Before.Parents)), new(metav1.NewTime(r.Before.At.Truncate(time.Second)))
	for kind, n := range r.Before.Children {
		status.Children = append(status.Children, v1alpha1.ChildCount{
			Group: kind.Group, Kind: kind.Kind, Count: int32(n), Recreated: int32(r.Before.Recreated[kind]),
		})
	}
	slices.SortFunc(status.Children, func(a, b v1alpha1.ChildCount) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
	return status
}
