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

	"github.com/libretto-k8s/libretto/apply/applytest"
)

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
		"Contested": {reason: "who holds a field is reported", observed: kept, err: contested, want: []string{"apply 7"}, failure: FailureFieldConflict},
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
			in := Input{Owner: owner, Rules: []Rule{serverSide(podRule, InPlace)}, Desired: list(desired)}
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
				sent = append(sent, kind+" "+applytest.Parse(t, p.Patch).GetResourceVersion())
				if kind == "apply" && tc.err != nil {
					return true, nil, tc.err
				}
				now := object(podRule, "a")
				now.SetResourceVersion("8")
				return true, now, nil
			})
			result := Execute(t.Context(), client, changes, Options{})[0]
			if diff := cmp.Diff(tc.want, sent); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			if got := Classify(result.Err); got != tc.failure {
				t.Errorf("%s: %q: %v", tc.reason, got, result.Err)
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
