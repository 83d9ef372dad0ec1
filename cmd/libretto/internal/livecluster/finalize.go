package livecluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
)

// released are parents that a new finalize hook would let go of at once if they were deleted now, and the one that serves would not.
type released struct {
	parents, total, children int
}

// String returns what is to be said of them, or "".
func (r released) String() string {
	if r.parents == 0 {
		return ""
	}
	return fmt.Sprintf("if they were deleted now, its finalize hook would let go of %d of %d parents at once, with %d children: "+
		"the one that serves would not", r.parents, r.total, r.children)
}

// addReleased adds the parents of a batch that are not being deleted.
func (a *sample) addReleased(ctx context.Context, b Batch) error {
	if a == nil || a.edit.serving == nil || !a.Plan.Config.Finalizing.Enabled || !a.edit.serving.Plan.Config.Finalizing.Enabled {
		return nil
	}
	after, err := a.Subject.finalized(ctx, b, a.Subject)
	if err != nil {
		return err
	}
	before, err := a.edit.serving.finalized(ctx, b, a.Subject)
	if err != nil {
		return err
	}
	for key, children := range after {
		if _, too := before[key]; !too {
			a.release.parents++
			a.release.children += children
		}
	}
	a.release.total += len(b.Parents)
	return nil
}

// finalized returns how many children the parents of a batch would lose that would be let go of at once if they were deleted now. Those
// that are being deleted already are left out. other serves the same cluster.
func (s *Subject) finalized(ctx context.Context, b Batch, other *Subject) (map[apply.Key]int, error) {
	b, err := b.Again()
	if err != nil {
		return nil, err
	}
	in := preview.Input{
		Base: s.base(other.Base), Objects: b.Objects, Programs: s.Programs, Scripts: s.scripts(ctx),
		Existing: b.Existing, Related: s.related.Select, Passes: 1, OnlyDestroyed: true, Now: time.Now(),
	}
	now, name := metav1.NewTime(in.Now), s.Plan.Config.Finalizing.Name
	for _, object := range b.Parents {
		if object.GetDeletionTimestamp() == nil && s.ruleOf(object) >= 0 {
			if object.SetDeletionTimestamp(&now); !hasFinalizer(object, name) {
				object.SetFinalizers(append(object.GetFinalizers(), name))
			}
			in.Parents = append(in.Parents, object)
		}
	}
	results, err := preview.Run(ctx, in)
	lost := map[apply.Key]int{}
	for _, o := range results {
		if slices.ContainsFunc(o.Changes, func(change preview.Change) bool { return change.Key == o.Parent }) {
			lost[o.Parent] = len(o.Changes) - 1
		}
	}
	return lost, err
}
