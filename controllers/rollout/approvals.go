package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// Approval is an annotation that approves a revision.
type Approval struct {
	scripts.Approval
	// On names the object that has it. Source is that object if it is a source of scripts.
	On     string
	Source scripts.Object
	// Counts is set unless spec.scriptRollout.approvals leaves it out.
	Counts bool
}

// ApprovalOf returns the first annotation that approves a revision, or nil.
func ApprovalOf(all []Approval, id scripts.RevisionID) *Approval {
	for i, a := range all {
		if a.Counts && id.IsApprovedBy(a.Text) {
			return &all[i]
		}
	}
	return nil
}

// SetApproval completes a status by what is known of the annotation that approves the revision in it. That of a revision that was approved
// before stays as it was then.
func SetApproval(before, next *v1alpha1.ScriptRolloutStatus, all []Approval) {
	if next == nil {
		return
	}
	if before != nil && before.Approval != nil && before.ApprovedRevision == next.ApprovedRevision {
		next.Approval = before.Approval
		return
	}
	next.Approval = nil
	if a := ApprovalOf(all, scripts.RevisionID(next.ApprovedRevision)); a != nil {
		next.Approval = &v1alpha1.ScriptApproval{Object: a.On, Reason: a.Reason}
		SetWriter(next.Approval, a.Manager, a.WrittenAt)
	}
}

// SetWriter completes an approval by its field manager, and by when that wrote last, which may be zero.
func SetWriter(a *v1alpha1.ScriptApproval, manager string, at time.Time) {
	if a.Manager = manager; manager != "" && !at.IsZero() {
		a.WrittenAt = &metav1.Time{Time: at}
	}
}

// ApprovedMessage returns what is known of an approval, of which a may be nil.
func ApprovedMessage(id scripts.RevisionID, a *v1alpha1.ScriptApproval) string {
	if a == nil {
		return fmt.Sprintf("revision %s is approved by an annotation that is there no more", id.Short())
	}
	message := fmt.Sprintf("revision %s is approved by the annotation %s of %s", id.Short(), v1alpha1.ApprovedRevisionAnnotation, a.Object)
	if a.Manager != "" {
		message += ", by field manager " + a.Manager
	}
	if a.WrittenAt != nil {
		message += ", at " + a.WrittenAt.UTC().Format(time.RFC3339) + " or before"
	}
	if a.Reason != "" {
		message += ": " + a.Reason
	}
	return message + "\nwhich user did it is in the audit log of the API server alone"
}

// ApprovalsOf returns the approving annotations of a definition, and of the objects among its sources. spec is its rollout, or nil.
func ApprovalsOf(definition *unstructured.Unstructured, spec *v1alpha1.ScriptRollout, sources []scripts.Object) []Approval {
	var all []Approval
	for _, source := range sources {
		if source.Approval.Text != "" {
			all = append(all, Approval{
				Approval: source.Approval, On: source.String(), Source: source, Counts: spec.CountsConfigMaps(),
			})
		}
	}
	slices.SortFunc(all, func(a, b Approval) int { return cmp.Compare(a.On, b.On) })
	if a := scripts.ApprovalIn(definition.GetAnnotations(), nil); a.Text != "" {
		key := apply.KeyOf(definition)
		all = slices.Insert(all, 0, Approval{Approval: a, On: key.String(), Counts: true})
	}
	return all
}
