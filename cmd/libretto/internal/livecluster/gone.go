package livecluster

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// gone are the children that earlier edits have deleted, which count with what an edit deletes.
type gone struct {
	record rollout.Record
	// left are those that are there still, by kind.
	left map[schema.GroupKind]int
}

// goneBefore returns what counts with the edit of a definition of the cluster, or nil.
func (s *Subject) goneBefore(d *unstructured.Unstructured, set *v1alpha1.ScriptRollout) *gone {
	var status v1alpha1.DefinitionStatus
	next, err := s.Plan.Edit(string(s.Revision))
	if err != nil || fieldsOf(d, "status", &status) != nil {
		return nil
	}
	record := rollout.RecordOf(status.DeletionGuard)
	isComplete := status.ScriptRollout == nil || status.ScriptRollout.UpdatedRevision == ""
	isApproved := s.isApproved(set, scripts.RevisionID(record.Edit.ID(record.Settled)))
	if !record.Counts(next, isApproved) || record.Settles(isComplete, time.Now()) {
		return nil
	}
	return &gone{record, map[schema.GroupKind]int{}}
}

// see counts a child that is there. A nil gone counts nothing.
func (g *gone) see(child *unstructured.Unstructured) {
	if g != nil && child.GetCreationTimestamp().Time.Before(g.record.Before.At) {
		g.left[child.GroupVersionKind().GroupKind()]++
	}
}

// addTo adds what is gone of all children.
func (g *gone) addTo(f *rollout.Findings) {
	if g != nil {
		f.AddGone(g.record.Gone(g.left))
	}
}
