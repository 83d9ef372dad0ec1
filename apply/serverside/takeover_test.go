package serverside

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/apply/applytest"
	"github.com/libretto-k8s/libretto/apply/merge"
)

func TestInherit(t *testing.T) {
	const apply, update = `"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"`, `"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"`
	own := ManagerName("libretto", "composite", "web")
	byOwn := `"manager": "` + own + `"`
	theirs := `{"manager": "kubectl", ` + update + `, "fieldsV1": {"f:t": {}}}`
	remembered := `"f:metadata": {"f:annotations": {"f:` + merge.LastApplied + `": {}}}`
	cases := map[string]struct {
		reason, last, entries string
		want                  string
		same                  bool
	}{
		"Nothing": {reason: "what others hold stays", entries: `[` + theirs + `]`, want: `[` + theirs + `]`, same: true},
		"Own": {
			reason: "what is held stays held", entries: `[` + theirs + `, {` + byOwn + `, ` + apply + `, "time": "now", "fieldsV1": {"f:a": {}}}]`,
			want: `[` + theirs + `, {` + byOwn + `, ` + apply + `, "time": "now", "fieldsV1": {"f:a": {}}}]`, same: true,
		},
		"Dynamic": {
			reason: "of what was written as a whole, what was asked for is held", last: `{"a": 1}`,
			entries: `[{"manager": "libretto", ` + update + `, "fieldsV1": {"f:a": {}, "f:default": {}}}, ` + theirs + `]`,
			want:    `[` + theirs + `, {` + byOwn + `, ` + apply + `, "fieldsV1": {"f:a": {}, ` + remembered + `}}]`,
		},
		"Status": {
			reason: "a status is not taken over", last: ``,
			entries: `[{"manager": "libretto", "subresource": "status", ` + update + `, "fieldsV1": {"f:status": {}}}]`,
			want:    `[{"manager": "libretto", "subresource": "status", ` + update + `, "fieldsV1": {"f:status": {}}}]`, same: true,
		},
		"Forgotten": {
			reason: "where nobody knows what was asked for, nothing is held", last: ``,
			entries: `[{"manager": "libretto", ` + update + `, "fieldsV1": {"f:a": {}}}]`, want: `[{}]`,
		},
		"Applied": {
			reason: "what a former manager has applied was asked for", last: ``,
			entries: `[{"manager": "metacontroller", ` + apply + `, "fieldsV1": {"f:a": {}}}, {"manager": "old/composite/web", ` + apply + `, "fieldsV1": {"f:b": {}}}]`,
			want:    `[{` + byOwn + `, ` + apply + `, "fieldsV1": {"f:a": {}, "f:b": {}}}]`,
		},
		"OtherDefinition": {
			reason: "another definition's fields are its own", last: ``,
			entries: `[{"manager": "libretto/composite/other", ` + apply + `, "fieldsV1": {"f:a": {}}}]`,
			want:    `[{"manager": "libretto/composite/other", ` + apply + `, "fieldsV1": {"f:a": {}}}]`, same: true,
		},
		"OtherVersion": {
			reason: "the fields of another version are unknown", last: ``,
			entries: `[{"manager": "metacontroller", "operation": "Apply", "apiVersion": "v1beta1", "fieldsV1": {"f:a": {}}}]`, want: `[{}]`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live := applytest.Parse(t, []byte(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default", "managedFields": `+tc.entries+`}}`))
			if tc.last != "" {
				live.SetAnnotations(map[string]string{merge.LastApplied: tc.last})
			}
			got, differs := Inherit(live, own, []string{"libretto", "metacontroller"})
			if diff := cmp.Diff(applytest.Parse(t, []byte(`{"e": `+tc.want+`}`)).Object["e"], any(got)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			if differs == tc.same {
				t.Errorf("%s: differs is %v", tc.reason, differs)
			}
		})
	}
}
