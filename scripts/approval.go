package scripts

import (
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
)

// The annotations that approve a revision, on a definition or a ConfigMap of its scripts: the ID of the revision, and why it is approved.
const (
	ApprovalAnnotation       = "metacontroller.k8s.io/approved-revision"
	ApprovalReasonAnnotation = "metacontroller.k8s.io/approval-reason"
)

// Bounds of what is kept of the annotations, in bytes.
const (
	maxApprovalText   = 100
	maxApprovalReason = 500
)

// Approval is an annotation that approves a revision, with what the API server says of it.
type Approval struct {
	// Text is its value, which RevisionID.IsApprovedBy reads. It is empty if there is no such annotation.
	Text string
	// Reason is the annotation beside it, on one line, or empty.
	Reason string
	// Manager is the field manager that wrote it, or empty, and WrittenAt when that manager last changed the object, or zero.
	Manager   string
	WrittenAt time.Time
}

// ApprovalIn returns the approval of an object with these annotations and managed fields.
func ApprovalIn(annotations map[string]string, fields []metav1.ManagedFieldsEntry) Approval {
	a := Approval{Text: engines.Truncate(strings.TrimSpace(annotations[ApprovalAnnotation]), maxApprovalText)}
	if a.Text == "" {
		return a
	}
	a.Reason = engines.Truncate(printable.Line(strings.TrimSpace(annotations[ApprovalReasonAnnotation])), maxApprovalReason)
	writer := objectwatch.LastWriter(fields, ApprovalAnnotation)
	if a.Manager = writer.Manager; writer.Time != nil {
		a.WrittenAt = writer.Time.Time
	}
	return a
}

// Approvals say which revisions of a tree are approved.
type Approvals struct {
	// Named are texts that RevisionID.IsApprovedBy reads.
	Named []string
	// OfConfigMaps is set if the annotations of its ConfigMaps count as well.
	OfConfigMaps bool
}

func (a Approvals) equal(b Approvals) bool {
	return a.OfConfigMaps == b.OfConfigMaps && slices.Equal(a.Named, b.Named)
}

// annotated returns the text of the approving annotations of the sources.
func (t *Tree) annotated() string {
	texts := map[string]string{}
	for origin, s := range t.sources {
		if a := s.object().Approval; a.Text != "" {
			texts[origin.String()] = a.Text + " " + a.Reason
		}
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		all = append(all, name+": "+texts[name])
	}
	return strings.Join(all, "\n")
}
