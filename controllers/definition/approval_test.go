package definition

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestApprovalAnnotations checks that scripts reads the annotations that the API has.
func TestApprovalAnnotations(t *testing.T) {
	got := []string{scripts.ApprovalAnnotation, scripts.ApprovalReasonAnnotation}
	if diff := cmp.Diff([]string{v1alpha1.ApprovedRevisionAnnotation, v1alpha1.ApprovalReasonAnnotation}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func digits(digit string) string { return strings.Repeat(digit, 64) }

// approvalsUnderTest returns the approvals of a definition and a ConfigMap with annotations, of which an empty one is none.
func approvalsUnderTest(onDefinition, onConfigMap string, allowed v1alpha1.ScriptApprovals) []approval {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "CompositeController"}}
	object.SetName("hello")
	object.SetAnnotations(map[string]string{v1alpha1.ApprovedRevisionAnnotation: onDefinition})
	s := &runtimeState{object: object, rollout: &v1alpha1.ScriptRollout{Approvals: allowed}}
	return s.approvals([]scripts.Object{
		{NamespacedName: types.NamespacedName{Namespace: "a", Name: "other"}},
		{
			NamespacedName: types.NamespacedName{Namespace: "a", Name: "hooks"},
			Approval:       scripts.ApprovalIn(map[string]string{scripts.ApprovalAnnotation: onConfigMap}, nil),
		},
	})
}

// TestMistakenApprovals tells annotations that approve nothing.
func TestMistakenApprovals(t *testing.T) {
	const prefix = "annotation metacontroller.k8s.io/approved-revision of "
	const noID = ", which is no ID of a revision, and approves nothing: write all 64 hexadecimal digits or the first 16"
	held := scripts.State{Held: "it would delete all", Desired: scripts.RevisionID(digits("b"))}
	rolledBack := v1alpha1.ScriptRolloutStatus{Phase: v1alpha1.ScriptsRolledBack, FailedRevision: digits("b")}
	for name, c := range map[string]struct {
		reason                    string
		onDefinition, onConfigMap string
		allowed                   v1alpha1.ScriptApprovals
		problems                  scripts.State
		rollout                   v1alpha1.ScriptRolloutStatus
		stored                    string
		want                      []string
	}{
		"none":           {reason: "there is nothing to tell", problems: held},
		"the right one":  {reason: "it counts", onDefinition: digits("b"), problems: held},
		"upper case":     {reason: "it counts", onDefinition: strings.ToUpper(digits("b")), problems: held},
		"of a ConfigMap": {reason: "it counts", onConfigMap: digits("b")[:16], allowed: v1alpha1.ConfigMapApprovals, problems: held},
		"15 digits": {
			reason: "it is told even while nothing is held", onDefinition: digits("b")[:15],
			want: []string{prefix + `CompositeController hello is "` + digits("b")[:15] + `"` + noID},
		},
		"no IDs": {
			reason: "each is told", onDefinition: "yes", onConfigMap: "no", problems: held,
			want: []string{prefix + `CompositeController hello is "yes"` + noID, prefix + `ConfigMap a/hooks is "no"` + noID},
		},
		"another one": {
			reason: "it is told while one is held", onDefinition: digits("c"), problems: held,
			want: []string{prefix + "CompositeController hello names revision " + digits("c") + ", and the one that waits for its approval is " + digits("b")[:16]},
		},
		"another one, of one that was taken back": {
			reason: "it waits for an approval too", onDefinition: digits("c"), rollout: rolledBack,
			want: []string{prefix + "CompositeController hello names revision " + digits("c") + ", and the one that waits for its approval is " + digits("b")[:16]},
		},
		"another one, and nothing is held": {reason: "it may come", onDefinition: digits("c")},
		"what serves":                      {reason: "it was let through before", onDefinition: digits("a"), problems: held},
		"what was let through":             {reason: "it may stay", onDefinition: digits("d")[:16], stored: digits("d"), problems: held},
		"a ConfigMap that may not": {
			reason: "by default the definition's alone count", onConfigMap: digits("b"), problems: held,
			want: []string{prefix + "ConfigMap a/hooks does not count: annotate the definition, or let its spec.scriptRollout.approvals be ConfigMap"},
		},
		"both": {reason: "one is enough", onDefinition: digits("b"), onConfigMap: digits("b"), problems: held},
	} {
		t.Run(name, func(t *testing.T) {
			v := statusView{newest: newestView{state: c.problems, id: c.problems.Desired}, running: runningView{revision: scripts.RevisionID(digits("a"))}, rollout: rollout.Progress{Next: c.rollout}}
			v.approvals = approvalsUnderTest(c.onDefinition, c.onConfigMap, c.allowed)
			var got []string
			for _, w := range warningsOf(v.mistakenApprovals(v1alpha1.DefinitionStatus{ScriptRollout: &v1alpha1.ScriptRolloutStatus{ApprovedRevision: c.stored}})) {
				got = append(got, w.Message)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestSetApproval remembers the annotation that let a revision through as it was then.
func TestSetApproval(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	annotated := []approval{
		{Approval: scripts.Approval{Text: digits("b"), Reason: "not counted"}, on: "ConfigMap a/other"},
		{Approval: scripts.Approval{Text: digits("b")[:16], Reason: "CHG-1", Manager: "flux", WrittenAt: at}, on: "ConfigMap a/hooks", counts: true},
	}
	known := &v1alpha1.ScriptApproval{Object: "ConfigMap a/hooks", Reason: "CHG-1", Manager: "flux", WrittenAt: &metav1.Time{Time: at}}
	earlier := &v1alpha1.ScriptApproval{Object: "CompositeController hello", Manager: "kubectl-annotate"}
	type status = v1alpha1.ScriptRolloutStatus
	for name, c := range map[string]struct {
		reason       string
		before, next *status
		all          []approval
		want         *v1alpha1.ScriptApproval
	}{
		"no status":        {"there is nothing to complete", nil, nil, annotated, nil},
		"a new approval":   {"the annotation that counts is told", nil, &status{ApprovedRevision: digits("b")}, annotated, known},
		"the same one":     {"it stays as it was", &status{ApprovedRevision: digits("b"), Approval: earlier}, &status{ApprovedRevision: digits("b")}, annotated, earlier},
		"taken away":       {"it is remembered", &status{ApprovedRevision: digits("b"), Approval: earlier}, &status{ApprovedRevision: digits("b")}, nil, earlier},
		"another one":      {"the earlier one is no more", &status{ApprovedRevision: digits("a"), Approval: earlier}, &status{ApprovedRevision: digits("b"), Approval: earlier}, annotated, known},
		"already gone":     {"nothing is known of it", &status{ApprovedRevision: digits("a"), Approval: earlier}, &status{ApprovedRevision: digits("b"), Approval: earlier}, nil, nil},
		"used up":          {"a failure ends it", &status{ApprovedRevision: digits("b"), Approval: earlier}, &status{Approval: earlier}, annotated, nil},
		"of an older host": {"what it did not know is added", &status{ApprovedRevision: digits("b")}, &status{ApprovedRevision: digits("b")}, annotated, known},
	} {
		t.Run(name, func(t *testing.T) {
			setApproval(c.before, c.next, c.all)
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
