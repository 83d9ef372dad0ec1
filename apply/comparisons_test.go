package apply

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// TestMemory changes one thing at a time after a comparison that found nothing.
func TestMemory(t *testing.T) {
	desired := object(podRule, "a", spec("x", "1"))
	version := func(v string) edit { return func(u *unstructured.Unstructured) { u.SetResourceVersion(v) } }
	// What differs in the object can only be seen by comparing, as its version says nothing.
	changed := stored(t, desired, version("7"), spec("x", "2"))
	known := podRule
	known.Schema = &openapi.Kind{Root: &openapi.Node{}}
	cases := map[string]struct {
		reason   string
		observed *unstructured.Unstructured
		desired  *unstructured.Unstructured
		rule     Rule
		forget   bool
		want     int // changes
	}{
		"Same":    {reason: "what has the same version is not compared again", observed: changed, desired: desired.DeepCopy(), rule: podRule},
		"Version": {reason: "another version is compared", observed: stored(t, desired, version("8"), spec("x", "2")), desired: desired, rule: podRule, want: 1},
		"None":    {reason: "an object without a version is compared", observed: stored(t, desired, version(""), spec("x", "2")), desired: desired, rule: podRule, want: 1},
		"Desired": {reason: "another wish is compared", observed: changed, desired: object(podRule, "a", spec("x", "3")), rule: podRule, want: 1},
		"Schema":  {reason: "what was compared without a schema is compared by it", observed: changed, desired: desired, rule: known, want: 1},
		"Forget":  {reason: "what is forgotten is compared", observed: changed, desired: desired, rule: podRule, forget: true, want: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			memory := NewMemory()
			diff := func(observed, desired *unstructured.Unstructured, rule Rule) int {
				changes, err := Diff(Input{Owner: owner, Observed: list(observed), Desired: list(desired), Rules: []Rule{rule}, Memory: memory})
				if err != nil {
					t.Fatal(err)
				}
				return len(changes)
			}
			if n := diff(stored(t, desired, version("7")), desired, podRule); n != 0 {
				t.Fatalf("%d changes at first", n)
			}
			if tc.forget {
				memory.Forget(KeyOf(desired))
			}
			if got := diff(tc.observed, tc.desired, tc.rule); got != tc.want {
				t.Errorf("%s: %d changes, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
