package definition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

func digits(digit string) string { return strings.Repeat(digit, 64) }

// approvalsUnderTest returns the approvals of a definition and a ConfigMap with annotations, of which an empty one is none.
func approvalsUnderTest(onDefinition, onConfigMap string, allowed v1alpha1.ScriptApprovals) []rollout.Approval {
	object := &unstructured.Unstructured{Object: map[string]any{"kind": "CompositeController"}}
	object.SetName("hello")
	object.SetAnnotations(map[string]string{v1alpha1.ApprovedRevisionAnnotation: onDefinition})
	configMap := func(name string) scripts.ObjectName {
		return scripts.ObjectName{Kind: scripts.ConfigMapKind, NamespacedName: types.NamespacedName{Namespace: "a", Name: name}}
	}
	return rollout.ApprovalsOf(object, &v1alpha1.ScriptRollout{Approvals: allowed}, []scripts.Object{
		{ObjectName: configMap("other")},
		{
			ObjectName: configMap("hooks"),
			Approval:   scripts.ApprovalIn(map[string]string{scripts.ApprovalAnnotation: onConfigMap}, nil),
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
			reason: "it is reported even while nothing is held", onDefinition: digits("b")[:15],
			want: []string{prefix + `CompositeController hello is "` + digits("b")[:15] + `"` + noID},
		},
		"no IDs": {
			reason: "each is reported", onDefinition: "yes", onConfigMap: "no", problems: held,
			want: []string{prefix + `CompositeController hello is "yes"` + noID, prefix + `ConfigMap a/hooks is "no"` + noID},
		},
		"another one": {
			reason: "it is reported while one is held", onDefinition: digits("c"), problems: held,
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
