package apply

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
)

func TestInherited(t *testing.T) {
	const apply, update = `"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1"`, `"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"`
	own := `"manager": "` + ours.Own + `"`
	theirs := `{"manager": "kubectl", ` + update + `, "fieldsV1": {"f:t": {}}}`
	remembered := `"f:metadata": {"f:annotations": {"f:` + LastApplied + `": {}}}`
	cases := map[string]struct {
		reason, last, entries string
		want                  string
		same                  bool
	}{
		"Nothing": {reason: "what others hold stays", entries: `[` + theirs + `]`, want: `[` + theirs + `]`, same: true},
		"Own": {
			reason: "what is held stays held", entries: `[` + theirs + `, {` + own + `, ` + apply + `, "time": "now", "fieldsV1": {"f:a": {}}}]`,
			want: `[` + theirs + `, {` + own + `, ` + apply + `, "time": "now", "fieldsV1": {"f:a": {}}}]`, same: true,
		},
		"Dynamic": {
			reason: "of what was written as a whole, what was asked for is held", last: `{"a": 1}`,
			entries: `[{"manager": "libretto", ` + update + `, "fieldsV1": {"f:a": {}, "f:default": {}}}, ` + theirs + `]`,
			want:    `[` + theirs + `, {` + own + `, ` + apply + `, "fieldsV1": {"f:a": {}, ` + remembered + `}}]`,
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
			want:    `[{` + own + `, ` + apply + `, "fieldsV1": {"f:a": {}, "f:b": {}}}]`,
		},
		"OtherDefinition": {
			reason: "another definition's fields are its own", last: ``,
			entries: `[{"manager": "libretto/composite/other", ` + apply + `, "fieldsV1": {"f:a": {}}}]`,
			want:    `[{"manager": "libretto/composite/other", ` + apply + `, "fieldsV1": {"f:a": {}}}]`, same: true,
		},
		"OtherVersion": {
			reason: "the fields of another version can't be told", last: ``,
			entries: `[{"manager": "metacontroller", "operation": "Apply", "apiVersion": "v1beta1", "fieldsV1": {"f:a": {}}}]`, want: `[{}]`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			live := object(podRule, "a", func(u *unstructured.Unstructured) {
				if tc.last != "" {
					u.SetAnnotations(map[string]string{LastApplied: tc.last})
				}
				u.Object["metadata"].(map[string]any)["managedFields"] = parse(t, []byte(`{"e": `+tc.entries+`}`)).Object["e"]
			})
			got, differs := inherited(live, ours.Own, []string{"libretto", "metacontroller"})
			if diff := cmp.Diff(parse(t, []byte(`{"e": `+tc.want+`}`)).Object["e"], any(got)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			if differs == tc.same {
				t.Errorf("%s: differs is %v", tc.reason, differs)
			}
		})
	}
}

// TestServerSideRequests checks what is sent for one change, and what errors mean.
func TestServerSideRequests(t *testing.T) {
	desired := object(podRule, "a", spec("x", "1"))
	kept := held(t, desired, `{"f:spec": {}}`)
	merged := stored(t, desired)
	conflict := apierrors.NewConflict(podRule.Resource.GroupResource(), "a", errBoom)
	contested := apierrors.NewApplyConflict([]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "b" using v1`, Field: ".x"}}, "")
	cases := map[string]struct {
		reason   string
		observed *unstructured.Unstructured
		live     *unstructured.Unstructured
		err      error
		want     []string
		failure  Failure
	}{
		"Create":    {reason: "a creation is for a version that nothing has", want: []string{"apply " + absent}},
		"Exists":    {reason: "what is there already is taken", err: conflict, want: []string{"apply " + absent}, failure: FailureAlreadyExists},
		"Update":    {reason: "an update is for the observed version", observed: kept, want: []string{"apply 7"}},
		"Stale":     {reason: "another version was not observed", observed: kept, err: conflict, want: []string{"apply 7"}, failure: FailureConflict},
		"Contested": {reason: "who holds a field is told", observed: kept, err: contested, want: []string{"apply 7"}, failure: FailureFieldConflict},
		"TakeOver":  {reason: "what was held before is taken over first", observed: merged, live: merged, want: []string{"get", "merge 7", "apply 8"}},
		"TakeOverStale": {
			reason: "another version was not observed", observed: merged, want: []string{"get"}, failure: FailureConflict,
			live: stored(t, desired, func(u *unstructured.Unstructured) { u.SetResourceVersion("9") }),
		},
		"TakeOverNothing": {
			reason: "where there is nothing to take over nothing is written", observed: held(t, desired, `{}`, unmanagedBy),
			live: held(t, desired, `{}`, unmanagedBy), want: []string{"get", "apply 7"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			in := Input{Owner: owner, Rules: []Rule{served(podRule, InPlace)}, Desired: list(desired)}
			if tc.observed != nil {
				in.Observed = list(tc.observed)
				in.Desired = list(object(podRule, "a", spec("x", "2")))
			}
			changes, err := Diff(in)
			if err != nil || len(changes) != 1 {
				t.Fatal(changes, err)
			}
			client := cluster()
			var sent []string
			client.PrependReactor("get", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				sent = append(sent, "get")
				return true, tc.live, nil
			})
			client.PrependReactor("patch", "pods", func(a clienttesting.Action) (bool, runtime.Object, error) {
				p := a.(clienttesting.PatchActionImpl)
				kind, _, _ := strings.Cut(strings.TrimPrefix(string(p.PatchType), "application/"), "-")
				sent = append(sent, kind+" "+parse(t, p.Patch).GetResourceVersion())
				if kind == "apply" && tc.err != nil {
					return true, nil, tc.err
				}
				now := object(podRule, "a")
				now.SetResourceVersion("8")
				return true, now, nil
			})
			outcome := Execute(t.Context(), client, changes, Options{})[0]
			if diff := cmp.Diff(tc.want, sent); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			if got := Classify(outcome.Err); got != tc.failure {
				t.Errorf("%s: %q: %v", tc.reason, got, outcome.Err)
			}
		})
	}
}

func TestConflicts(t *testing.T) {
	if got := FieldManagerConflicts(errBoom); got != nil || FieldManagerConflicts(nil) != nil {
		t.Errorf("%v", got)
	}
	causes := []metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "b" using v1`, Field: ".x"},
		{Type: metav1.CauseTypeFieldValueInvalid, Message: `"c"`, Field: ".y"},
		{Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "a" with subresource "scale" using v1`, Field: ".y"},
	}
	err := errors.Join(errBoom, apierrors.NewApplyConflict(causes, ""))
	if diff := cmp.Diff([]FieldManagerConflict{{"a", "y"}, {"b", "x"}}, FieldManagerConflicts(err)); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}
