package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestApprovalAnnotations checks that scripts reads the annotations that the API has.
func TestApprovalAnnotations(t *testing.T) {
	got := []string{scripts.ApprovalAnnotation, scripts.ApprovalReasonAnnotation}
	if diff := cmp.Diff([]string{v1alpha1.ApprovedRevisionAnnotation, v1alpha1.ApprovalReasonAnnotation}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSetApproval remembers the annotation that let a revision through as it was then.
func TestSetApproval(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	annotated := []Approval{
		{Approval: scripts.Approval{Text: strings.Repeat("b", 64), Reason: "not counted"}, On: "ConfigMap a/other"},
		{Approval: scripts.Approval{Text: strings.Repeat("b", 64)[:16], Reason: "CHG-1", Manager: "flux", WrittenAt: at}, On: "ConfigMap a/hooks", Counts: true},
	}
	known := &v1alpha1.ScriptApproval{Object: "ConfigMap a/hooks", Reason: "CHG-1", Manager: "flux", WrittenAt: &metav1.Time{Time: at}}
	earlier := &v1alpha1.ScriptApproval{Object: "CompositeController hello", Manager: "kubectl-annotate"}
	type status = v1alpha1.ScriptRolloutStatus
	for name, c := range map[string]struct {
		reason       string
		before, next *status
		all          []Approval
		want         *v1alpha1.ScriptApproval
	}{
		"no status":        {"there is nothing to complete", nil, nil, annotated, nil},
		"a new approval":   {"the annotation that counts is reported", nil, &status{ApprovedRevision: strings.Repeat("b", 64)}, annotated, known},
		"the same one":     {"it stays as it was", &status{ApprovedRevision: strings.Repeat("b", 64), Approval: earlier}, &status{ApprovedRevision: strings.Repeat("b", 64)}, annotated, earlier},
		"taken away":       {"it is remembered", &status{ApprovedRevision: strings.Repeat("b", 64), Approval: earlier}, &status{ApprovedRevision: strings.Repeat("b", 64)}, nil, earlier},
		"another one":      {"the earlier one is no more", &status{ApprovedRevision: strings.Repeat("a", 64), Approval: earlier}, &status{ApprovedRevision: strings.Repeat("b", 64), Approval: earlier}, annotated, known},
		"already gone":     {"nothing is known of it", &status{ApprovedRevision: strings.Repeat("a", 64), Approval: earlier}, &status{ApprovedRevision: strings.Repeat("b", 64), Approval: earlier}, nil, nil},
		"used up":          {"a failure ends it", &status{ApprovedRevision: strings.Repeat("b", 64), Approval: earlier}, &status{Approval: earlier}, annotated, nil},
		"of an older host": {"what it did not know is added", &status{ApprovedRevision: strings.Repeat("b", 64)}, &status{ApprovedRevision: strings.Repeat("b", 64)}, annotated, known},
	} {
		t.Run(name, func(t *testing.T) {
			SetApproval(c.before, c.next, c.all)
			var got *v1alpha1.ScriptApproval
			if c.next != nil {
				got = c.next.Approval
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
