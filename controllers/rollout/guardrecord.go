package rollout

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// ChildCounts is how many children there are, of how many parents.
type ChildCounts struct {
	// Children are those that were there at the time At, and those that edits have deleted before.
	Children map[schema.GroupKind]int
	Parents  int
	// Recreated is how many of Children edits have recreated until then.
	Recreated map[schema.GroupKind]int
	// At is when they were counted.
	At time.Time
}

// Gone are numbers of children that are gone, by kind and by what was done to them.
type Gone map[destruction]int

// Record is what a Guard needs of an earlier process.
type Record struct {
	// Settled is the edit whose deletions are not counted, and Edit the newest one, which serves since Since. They are equal once it has
	// settled.
	Settled, Edit Edit
	Since         time.Time
	// Before is what there was before the first deletion that counts, or nil.
	Before *ChildCounts
}

// Settles reports whether Edit has served for so long that it has settled. complete is set if it serves all parents.
func (r Record) Settles(complete bool, now time.Time) bool {
	return complete && now.Sub(r.Since) >= SettleTime
}

// Counts reports whether what was deleted before goes on counting once an edit takes over. approved is set if an approval names Edit.
func (r Record) Counts(edit Edit, approved bool) bool {
	return r.Before != nil && r.Edit != r.Settled && edit != r.Settled && (edit == r.Edit || !approved)
}

// Gone returns how many of the children that there were before are gone. left are those that were created before r.Before.At, by kind:
// what has come back since then does not replace what is gone.
func (r Record) Gone(left map[schema.GroupKind]int) Gone {
	gone := Gone{}
	for kind, n := range r.Before.Children {
		gone[destruction{kind, Delete}], gone[destruction{kind, Recreate}] = max(0, n-left[kind]), r.Before.Recreated[kind]
	}
	return gone
}

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
