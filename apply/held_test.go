package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestHeld checks which changes OnDelete holds back.
func TestHeld(t *testing.T) {
	a := object(podRule, "a", spec("x", "1"))
	cases := map[string]struct {
		reason            string
		observed, desired *unstructured.Unstructured
		method            Method
		want              []string
	}{
		"Same":        {"it is as it should be", stored(t, a), a, OnDelete, nil},
		"Differs":     {"a field differs", stored(t, a), object(podRule, "a", spec("x", "2")), OnDelete, []string{"Recreate Pod default/a"}},
		"Default":     {"the empty method is OnDelete", stored(t, a), object(podRule, "a", spec("x", "2")), "", []string{"Recreate Pod default/a"}},
		"Bookkeeping": {"a missing annotation is nothing to wait for", stored(t, a, forgetful), a, OnDelete, nil},
		"Kept":        {"the hook names what exists, to keep it", stored(t, a), object(podRule, "a"), OnDelete, nil},
		"Deleting":    {"it is on its way", stored(t, a, deleting), object(podRule, "a", spec("x", "2")), OnDelete, nil},
		"InPlace":     {"it is updated", stored(t, a), object(podRule, "a", spec("x", "2")), InPlace, nil},
		"Absent":      {"it is created", nil, a, OnDelete, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var held []Change
			in := Input{Owner: owner, Rules: []Rule{by(podRule, tc.method)}, Desired: list(tc.desired), Held: func(c Change) { held = append(held, c) }}
			if tc.observed != nil {
				in.Observed = list(tc.observed)
			}
			if _, err := Diff(in); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, steps(held)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
