package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
)

// steps writes changes as "Action key", in order.
func steps(changes []Change) []string {
	var out []string
	for _, c := range changes {
		out = append(out, string(c.Action)+" "+c.Key.String())
	}
	return out
}

func TestDiff(t *testing.T) {
	a, b := object(podRule, "a", spec("x", "1")), object(podRule, "b", spec("x", "1"))
	changed := object(podRule, "a", spec("x", "2"))
	empty := object(podRule, "a", spec("x", "1"), spec("y", ""))
	rules := []Rule{podRule, serviceRule, namespaceRule}
	orphan := by(podRule, OnDelete)
	orphan.Orphan = true
	kept := NamespaceOwner(object(namespaceRule, "default"))
	kept["uid"] = "uid-of-default"
	keeping := func(o *unstructured.Unstructured) { o.Object = WithNamespaceOwner(o, kept).Object }
	cases := map[string]struct {
		reason            string
		observed, desired []*unstructured.Unstructured
		rules             []Rule
		want              []string
	}{
		"Nothing": {
			reason: "no objects, no changes",
		},
		"Same": {
			reason:   "what was created from the same object needs no write",
			observed: list(stored(t, a)), desired: list(a),
		},
		"Create": {
			reason:  "objects are created in the order in which they were desired, whatever their names and kinds",
			desired: list(object(serviceRule, "z"), b, a, object(namespaceRule, "n")),
			want:    []string{"Create Service default/z", "Create Pod default/b", "Create Pod default/a", "Create Namespace n"},
		},
		"Delete": {
			reason:   "deletions come first and are ordered by rule and name",
			observed: list(stored(t, object(serviceRule, "a")), stored(t, b), stored(t, a, inNamespace("other")), stored(t, a)),
			desired:  list(object(podRule, "new")),
			want:     []string{"Delete Pod default/a", "Delete Pod default/b", "Delete Pod other/a", "Delete Service default/a", "Create Pod default/new"},
		},
		"DeleteOnDelete": {
			reason:   "OnDelete is about objects that differ, not about those that are not desired",
			observed: list(stored(t, a)), rules: []Rule{by(podRule, OnDelete)},
			want: []string{"Delete Pod default/a"},
		},
		"Orphan": {
			reason:   "objects that must not be deleted are released, in the place of a deletion",
			observed: list(stored(t, b), stored(t, a)), rules: []Rule{orphan}, want: []string{"Orphan Pod default/a", "Orphan Pod default/b"},
		},
		"OrphanWithoutNamespaceOwner": {
			reason:   "what exists gets its second owner whatever the method",
			observed: list(stored(t, a)), desired: list(WithNamespaceOwner(a, kept)), rules: []Rule{orphan}, want: []string{"Update Pod default/a"},
		},
		"OrphanWithNamespaceOwner": {
			reason:   "the owner that is there stays, also if nothing is said of it",
			observed: list(stored(t, a, keeping)), desired: list(a), rules: []Rule{orphan},
		},
		"NoOrphan": {
			reason:   "without the policy the owner is taken off",
			observed: list(stored(t, a, keeping)), desired: list(a), want: []string{"Update Pod default/a"},
		},
		"NoOrphanOnDelete": {
			reason:   "OnDelete leaves the owner that is there: libretto rbac prints no right to update",
			observed: list(stored(t, a, keeping)), desired: list(a), rules: []Rule{by(podRule, OnDelete)},
		},
		"AlreadyDeleting": {
			reason:   "what is being deleted is not deleted again",
			observed: list(stored(t, a, deleting)),
		},
		"DesiredButDeleting": {
			reason:   "what is being deleted is neither mended nor created anew before it is gone",
			observed: list(stored(t, a, deleting)), desired: list(changed),
		},
		"InPlace": {
			reason:   "InPlace updates",
			observed: list(stored(t, a)), desired: list(changed),
			want: []string{"Update Pod default/a"},
		},
		"Recreate": {
			reason:   "Recreate deletes now and leaves creating to a later pass",
			observed: list(stored(t, a), stored(t, b)), desired: list(b, changed), rules: []Rule{by(podRule, Recreate)},
			want: []string{"Recreate Pod default/a"},
		},
		"RecreateDeleting": {
			reason:   "Recreate waits for what is being deleted",
			observed: list(stored(t, a, deleting)), desired: list(changed), rules: []Rule{by(podRule, Recreate)},
		},
		"RecreateBookkeeping": {
			reason:   "an object is not given up because its annotation is missing",
			observed: list(stored(t, a, forgetful)), desired: list(a), rules: []Rule{by(podRule, Recreate)},
			want: []string{"Update Pod default/a"},
		},
		"RecreateAskedAnew": {
			reason:   "what is newly asked for is a difference even if it is empty",
			observed: list(stored(t, a)), desired: list(empty), rules: []Rule{by(podRule, Recreate)},
			want: []string{"Recreate Pod default/a"},
		},
		"OnDelete": {
			reason:   "OnDelete never touches what exists",
			observed: list(stored(t, a)), desired: list(changed), rules: []Rule{by(podRule, OnDelete)},
		},
		"Default": {
			reason:   "no method is OnDelete",
			observed: list(stored(t, a)), desired: list(changed), rules: []Rule{by(podRule, "")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.rules == nil {
				tc.rules = rules
			}
			changes, err := Diff(Input{Owner: owner, Observed: tc.observed, Desired: tc.desired, Rules: tc.rules})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, steps(changes)); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDiffRefuses(t *testing.T) {
	pod, observed := object(podRule, "a"), list(stored(t, object(podRule, "gone")))
	cases := map[string]struct {
		reason   string
		observed []*unstructured.Unstructured
		desired  []*unstructured.Unstructured
		rules    []Rule
		want     string
	}{
		"Twice": {
			reason:  "two objects that are the same one are named with their positions",
			desired: list(pod, object(podRule, "b"), object(podRule, "a", spec("x", "1"))), rules: []Rule{podRule},
			want: "desired[0] and desired[2]: both are Pod default/a",
		},
		"Undeclared": {
			reason:  "a kind without rule is named, and those that have one",
			desired: list(pod, object(roleRule, "r")), rules: []Rule{podRule, serviceRule},
			want: "desired[1]: Role default/r: rbac.authorization.k8s.io/v1 Role is not declared; declared: v1 Pod, v1 Service",
		},
		"NothingDeclared": {
			reason: "there may be no rule at all", desired: list(pod),
			want: "desired[0]: Pod default/a: v1 Pod is not declared; no kind is",
		},
		"Null": {
			reason:  "nothing is no object",
			desired: list(nil, &unstructured.Unstructured{}), rules: []Rule{podRule},
			want: "desired[0]: is null\ndesired[1]: is null",
		},
		"Nameless": {
			reason:  "an object without name can't be found again",
			desired: list(object(podRule, "")), rules: []Rule{podRule},
			want: "desired[0]: v1 Pod: metadata.name is missing",
		},
		"NoNamespace": {
			reason:  "a namespaced object has to be somewhere",
			desired: list(object(podRule, "a", inNamespace(""))), rules: []Rule{podRule},
			want: "desired[0]: Pod a: metadata.namespace is missing",
		},
		"Namespace": {
			reason:  "a cluster-wide object is nowhere",
			desired: list(object(namespaceRule, "a", inNamespace("x"))), rules: []Rule{namespaceRule},
			want: "desired[0]: Namespace x/a: metadata.namespace is set, but the kind has no namespaces",
		},
		"Method": {
			reason: "a method that is none would do nothing in silence", rules: []Rule{by(podRule, "Sideways")},
			want: `v1 Pod: unknown update method "Sideways"`,
		},
		"RuleTwice": {
			reason: "two rules for a kind may disagree", rules: []Rule{podRule, by(podRule, Recreate)},
			want: "v1 Pod: declared twice",
		},
		"ObservedUndeclared": {
			reason:   "what is observed without rule can't be written",
			observed: list(stored(t, object(serviceRule, "s"))), rules: []Rule{podRule},
			want: "observed Service default/s: v1 Service is not declared; declared: v1 Pod",
		},
		"NotJSON": {
			reason:  "what can't be written is said to be so, with its name",
			desired: list(object(podRule, "a", spec("f", func() {}))), rules: []Rule{podRule},
			want: "Pod default/a: encode as JSON: json: unsupported type: func()",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.observed == nil && len(tc.rules) > 0 && tc.rules[0].Kind == podRule.Kind {
				tc.observed = observed
			}
			changes, err := Diff(Input{Owner: owner, Observed: tc.observed, Desired: tc.desired, Rules: tc.rules})
			if err == nil {
				t.Fatalf("%s: no error", tc.reason)
			}
			if diff := cmp.Diff(tc.want, err.Error()); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
			if changes != nil {
				t.Errorf("%s: with an error, nothing is to be done, but got %v", tc.reason, steps(changes))
			}
		})
	}
}

func TestDiffLeavesItsInputAlone(t *testing.T) {
	desired := object(podRule, "a", spec("x", "2"), func(u *unstructured.Unstructured) {
		u.SetResourceVersion("1")
		u.SetAnnotations(map[string]string{merge.LastApplied: "{}"})
	})
	observed := stored(t, object(podRule, "a", spec("x", "1")))
	before, wanted := observed.DeepCopy(), desired.DeepCopy()
	for _, objects := range [][]*unstructured.Unstructured{nil, list(observed)} {
		if _, err := Diff(Input{Owner: owner, Observed: objects, Desired: list(desired), Rules: []Rule{podRule}}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(before, observed) + cmp.Diff(wanted, desired); diff != "" {
		t.Errorf("(-before, +after):\n%s", diff)
	}
}
