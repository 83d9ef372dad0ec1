package hosted

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestPreviewAlone previews scripts while nothing serves that they could be compared with.
func TestPreviewAlone(t *testing.T) {
	deleting := func(o *unstructured.Unstructured) {
		if o.GetKind() == "Box" {
			_ = unstructured.SetNestedField(o.Object, "2026-01-01T00:00:00Z", "metadata", "deletionTimestamp")
		}
	}
	for name, c := range map[string]struct {
		reason        string
		serving, next texts
		limits        *v1alpha1.ScriptPreview
		edit          func(*unstructured.Unstructured)
		want          scripts.Preview
	}{
		"nothing changes": {
			reason: "It is reported that there was nothing to compare it with.",
			next:   making("1", three), want: scripts.Preview{NoBaseline: true, Summary: "previewed on 4 of 4 parents"},
		},
		"no children by mistake": {
			reason: "What is deleted counts as always.", next: making("1", nil),
			want: scripts.Preview{NoBaseline: true, Held: "it would delete 12 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
		"parents fail": {
			reason: "Nobody can say whether they failed before, so that they are reported and hold nothing.", next: making("1", three, "b001", "b002"),
			want: scripts.Preview{NoBaseline: true, Summary: "previewed on 4 of 4 parents; 2 of them fail, and perhaps did before, " +
				"first Box default/b001: HookFailed: sync hook: sync.js:3:9: TypeError: no"},
		},
		"parents fail, with a limit": {
			reason: "A limit counts those that fail because of an edit.", next: making("1", three, "b001"),
			limits: &v1alpha1.ScriptPreview{MaxFailingParents: limit("0")},
			want: scripts.Preview{NoBaseline: true, Summary: "previewed on 4 of 4 parents; 1 of them fail, and perhaps did before, " +
				"first Box default/b001: HookFailed: sync hook: sync.js:3:9: TypeError: no"},
		},
		"a limit of deletions": {
			reason: "Those count.", next: making("1", three[:2]), limits: &v1alpha1.ScriptPreview{MaxDeletedChildren: limit("3")},
			want: scripts.Preview{NoBaseline: true, Held: "it would delete 4 of 12 children of 4 of 4 parents, " +
				"more than spec.scriptRollout.preview.maxDeletedChildren: 3 allows, first ConfigMap default/b000-2"},
		},
		"parents that are being deleted": {
			reason: "Their children are deleted by any text.", edit: deleting,
			next: making("1", three).with("finalize", making("1", nil)["finalize"].(hook).answer),
			want: scripts.Preview{NoBaseline: true, Summary: "previewed on 4 of 4 parents"},
		},
		"the first scripts of all": {
			reason: "Where there are no children nothing can be lost, and no hook is called.", serving: making("1", nil),
			next: making("1", three, "b001"), want: scripts.Preview{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			serving := c.serving
			if serving == nil {
				serving = making("1", three)
			}
			s := settled(t, "InPlace", script, "", serving, 4, c.edit)
			subject := s.subject(c.next)
			subject.Serving, subject.ServingScripts, subject.NoBaseline, subject.Limits = nil, nil, true, c.limits
			got := New("libretto", nil, nil).Preview(t.Context(), subject)
			if got.Held != "" {
				got.Summary = ""
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
