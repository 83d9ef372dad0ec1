package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestIgnored checks what is written of a child of which the hook wants x: 1, y: 1, and whose field x is left to others.
func TestIgnored(t *testing.T) {
	desired := object(podRule, "a", spec("x", "1"), spec("y", "1"))
	dynamic, applied := podRule, serverSide(podRule, InPlace)
	dynamic.Ignored, applied.Ignored = [][]string{{"spec", "x"}}, [][]string{{"spec", "x"}}
	without := func(u *unstructured.Unstructured) { unstructured.RemoveNestedField(u.Object, "spec", "x") }
	for name, c := range map[string]struct {
		reason   string
		rule     Rule
		observed *unstructured.Unstructured
		want     any // spec.x of what is sent; nil if it is not sent, and "none" if nothing is
	}{
		"new":            {"It is created as the hook wants it.", dynamic, nil, "1"},
		"new applied":    {"It is created as the hook wants it.", applied, nil, "1"},
		"same":           {"Nothing is to be written.", dynamic, stored(t, desired), "none"},
		"scaled":         {"What somebody else has written stays, and is no reason to write.", dynamic, stored(t, desired, spec("x", "2")), "none"},
		"scaled and old": {"It stays in a write of something else.", dynamic, stored(t, desired, spec("x", "2"), spec("y", "0")), "2"},
		"deleted":        {"What somebody else has deleted is not made again.", dynamic, stored(t, desired, without, spec("y", "0")), nil},
		"applied": {"What the manager holds is applied again, as to leave it out would delete it.", applied,
			held(t, desired, `{"f:spec": {"f:x": {}, "f:y": {}}}`, marked, spec("y", "0")), "1"},
		"applied before": {"What dynamic apply has written is taken over.", applied, stored(t, desired, spec("x", "2")), "2"},
		"a whole applied": {"So is what is in a whole that it holds.", applied,
			held(t, desired, `{"f:spec": {}}`, marked, spec("y", "0")), "1"},
		"applied by other": {"What the manager does not hold is left out.", applied,
			held(t, object(podRule, "a", spec("y", "0")), `{"f:spec": {"f:y": {}}}`, marked, spec("x", "2")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := Input{Owner: owner, Rules: []Rule{c.rule}, Desired: list(desired)}
			if c.observed != nil {
				in.Observed = list(c.observed)
			}
			changes, err := Diff(in)
			if err != nil {
				t.Fatal(err)
			}
			var got any = "none"
			if len(changes) > 0 {
				got, _, _ = unstructured.NestedFieldNoCopy(changes[0].Object.Object, "spec", "x")
			}
			if got != c.want {
				t.Errorf("%s x is %v in %+v, want %v", c.reason, got, changes, c.want)
			}
		})
	}
}
