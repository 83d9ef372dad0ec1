package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/fielddiff"
)

func TestAgain(t *testing.T) {
	observed := stored(t, object(podRule, "a", spec("x", "1")))
	next := func(edits ...edit) *unstructured.Unstructured {
		u := observed.DeepCopy()
		for _, e := range append(edits, func(u *unstructured.Unstructured) { u.SetResourceVersion("8"); u.SetGeneration(2) }) {
			e(u)
		}
		return u
	}
	desired := object(podRule, "a", spec("x", "2"), spec("unknown", true))
	change, err := child{key: KeyOf(desired), rule: podRule, desired: desired}.update(observed)
	if err != nil {
		t.Fatal(err)
	}
	remembers := func(u *unstructured.Unstructured) { u.SetAnnotations(change.Object.GetAnnotations()) }
	status := func(u *unstructured.Unstructured) { u.Object["status"] = map[string]any{"phase": "Running"} }
	cases := map[string]struct {
		reason string
		left   *unstructured.Unstructured
		err    error
		action Action
		want   bool
	}{
		"Kept": {reason: "nothing is left to do", left: next(remembers, status, spec("x", "2"), spec("unknown", true))},
		"Fields": {reason: "managedFields are not sent, and no rest", left: next(remembers, status, spec("x", "2"), spec("unknown", true), func(u *unstructured.Unstructured) {
			u.Object["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{"manager": "libretto"}}
		})},
		"Dropped": {reason: "a field was dropped, and would be again", left: next(remembers, status, spec("x", "2")), want: true},
		"Failed":  {reason: "nothing is known of an update that failed", err: errBoom},
		"Deleted": {reason: "only an update can be futile", left: next(), action: ActionRecreate},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sent := *change
			if tc.action != "" {
				sent.Action = tc.action
			}
			again, ok := Result{Change: sent, Object: tc.left, Err: tc.err}.Again()
			if ok != tc.want {
				t.Fatalf("%s: got %v", tc.reason, ok)
			}
			if !ok {
				return
			}
			now, err := child{key: KeyOf(desired), rule: podRule, desired: desired}.update(tc.left)
			if err != nil || now == nil || now.Digest() != again.Digest() {
				t.Errorf("%s: the next pass makes %v of it, error %v", tc.reason, fielddiff.Describe(nil, again.Object, now.Object), err)
			}
		})
	}
}
