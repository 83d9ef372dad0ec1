package mapping

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

func printedFingerprints(t testing.TB, v *Variant, observed variant.Observed) []string {
	t.Helper()
	calls, err := v.Calls(observed)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, call := range calls {
		all = append(all, fmt.Sprint(call.Stamps))
	}
	return all
}

func TestFingerprints(t *testing.T) {
	// The three calls are about input a with output x, input b, and what is left of input gone.
	base := observation{
		Parent: namespacedParent, Inputs: []string{"ConfigMap prod/a", "ConfigMap prod/b"}, Related: []string{"Node n1", "Node n2"},
		Outputs: []string{"Pod prod/x of /ConfigMap/prod/a", "Pod prod/y of /ConfigMap/prod/gone"},
	}
	none, all := [3]bool{}, [3]bool{true, true, true}
	cases := map[string]struct {
		reason string
		change func(*variant.Observed)
		want   [3]bool // which fingerprints change
	}{
		"Nothing": {"The same gives the same.", func(*variant.Observed) {}, none},
		"ParentStatus": {"The parent's status is the map's own doing.", func(o *variant.Observed) {
			set(o.Parent, int64(3), "status", "total")
			o.Parent.SetResourceVersion("10")
		}, none},
		"ParentSpec":       {"Another generation concerns all.", func(o *variant.Observed) { o.Parent.SetGeneration(5) }, all},
		"ParentLabel":      {"Labels do not count as a generation.", func(o *variant.Observed) { o.Parent.SetLabels(map[string]string{"a": "b"}) }, all},
		"ParentAnnotation": {"Nor do annotations.", func(o *variant.Observed) { o.Parent.SetAnnotations(map[string]string{"a": "b"}) }, all},
		"ParentAnew":       {"A parent made anew is another.", func(o *variant.Observed) { o.Parent.SetUID("u2") }, all},
		"Input":            {"An input that changed concerns itself.", func(o *variant.Observed) { o.Inputs[1].SetResourceVersion("2") }, [3]bool{false, true, false}},
		"InputAnew":        {"So does one that was made anew.", func(o *variant.Observed) { o.Inputs[0].SetUID("other") }, [3]bool{true, false, false}},
		"Output":           {"An output concerns its input.", func(o *variant.Observed) { o.Children[0].SetResourceVersion("2") }, [3]bool{true, false, false}},
		"Detached":         {"Or what is left of it.", func(o *variant.Observed) { o.Children[1].SetResourceVersion("2") }, [3]bool{false, false, true}},
		"OutputAdded": {"One more output too.", func(o *variant.Observed) {
			o.Children = append(o.Children, output(newVariant(t, allHooks), "Pod prod/z of /ConfigMap/prod/b"))
		}, [3]bool{false, true, false}},
		"OutputRemoved": {"And one less.", func(o *variant.Observed) { o.Children = o.Children[1:] }, [3]bool{true, false, false}},
		"Related":       {"A related object concerns all.", func(o *variant.Observed) { o.Related[0].SetResourceVersion("2") }, all},
		"RelatedGone":   {"So does its absence.", func(o *variant.Observed) { o.Related = o.Related[:1] }, all},
		"RelatedKinds":  {"An empty group is in the request too.", func(o *variant.Observed) { o.RelatedKinds = append(slices.Clip(o.RelatedKinds), pods.Kind) }, all},
		"RelatedOrder":  {"In which order they were found is no matter.", func(o *variant.Observed) { slices.Reverse(o.Related) }, none},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := newVariant(t, allHooks, pods)
			observed := base.observed(t, v)
			before := printedFingerprints(t, v, observed)
			tc.change(&observed)
			after := printedFingerprints(t, v, observed)
			for i := range before {
				if (before[i] != after[i]) != tc.want[i] {
					t.Errorf("%s\nstamps %d: %s, then %s; want a change: %t", tc.reason, i, before[i], after[i], tc.want[i])
				}
			}
		})
	}
}

func set(o *unstructured.Unstructured, value any, path ...string) {
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		panic(err)
	}
}

func TestFingerprintWithoutGeneration(t *testing.T) {
	v := newVariant(t, allHooks, pods)
	observed := observation{Parent: `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: prod, uid: u1, resourceVersion: "9"}}`, Inputs: []string{"ConfigMap prod/a"}}.observed(t, v)
	before := printedFingerprints(t, v, observed)
	observed.Parent.SetResourceVersion("10")
	if after := printedFingerprints(t, v, observed); before[0] == after[0] {
		t.Error("a parent without a generation changes with its resourceVersion, but the fingerprint did not")
	}
}

func TestFingerprintOfDefinition(t *testing.T) {
	v, other := newVariant(t, allHooks, pods), newVariant(t, allHooks, pods)
	other.definition.SetGeneration(2)
	observed := observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/a"}}.observed(t, v)
	if printedFingerprints(t, v, observed)[0] == printedFingerprints(t, other, observed)[0] {
		t.Error("hooks are shown the definition, but its generation does not change the fingerprint")
	}
}

func TestNoFingerprint(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*variant.Observed)
		field  string
	}{
		"Input":   {"An input without a version could be anything.", func(o *variant.Observed) { o.Inputs[0].SetResourceVersion("") }, "input"},
		"Output":  {"So could an output.", func(o *variant.Observed) { o.Children[0].SetResourceVersion("") }, "outputs"},
		"Related": {"And a related object.", func(o *variant.Observed) { o.Related[0].SetResourceVersion("") }, "related"},
		"Parent":  {"And a parent with neither generation nor version.", func(o *variant.Observed) { o.Parent.SetGeneration(0); o.Parent.SetResourceVersion("") }, "parent"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := newVariant(t, allHooks, pods)
			observed := observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/a"}, Outputs: []string{"Pod prod/x of /ConfigMap/prod/a"}, Related: []string{"Node n1"}}.observed(t, v)
			tc.change(&observed)
			calls, err := v.Calls(observed)
			if err != nil {
				t.Fatal(err)
			}
			for field, fingerprint := range calls[0].Stamps {
				if (fingerprint == "") != (field == tc.field) {
					t.Errorf("%s\nwant no fingerprint of %s and one of all others, got %q of %s", tc.reason, tc.field, fingerprint, field)
				}
			}
		})
	}
}

// TestFingerprintsOfMetadata checks that labels and annotations count apart from the rest of the parent.
func TestFingerprintsOfMetadata(t *testing.T) {
	v := newVariant(t, allHooks, pods)
	observed := observation{Parent: namespacedParent, Inputs: []string{"ConfigMap prod/a"}}.observed(t, v)
	before := stampsOf(t, v, observed)
	observed.Parent.SetLabels(map[string]string{"a": "b"})
	observed.Parent.SetResourceVersion("10")
	var changed []string
	for path, stamp := range stampsOf(t, v, observed) {
		if stamp != before[path] {
			changed = append(changed, path)
		}
	}
	if !slices.Equal(changed, []string{"parent.metadata.labels"}) {
		t.Errorf("a new label changes the stamps of %v", changed)
	}
}

func stampsOf(t *testing.T, v *Variant, observed variant.Observed) map[string]string {
	t.Helper()
	calls, err := v.Calls(observed)
	if err != nil {
		t.Fatal(err)
	}
	return calls[0].Stamps
}

// TestFingerprintsOfMany checks that of 500 inputs one that changes costs one call.
func TestFingerprintsOfMany(t *testing.T) {
	v := newVariant(t, allHooks, pods)
	many := observation{Parent: namespacedParent}
	for i := range 500 {
		many.Inputs = append(many.Inputs, fmt.Sprintf("ConfigMap prod/in-%03d", i))
		many.Outputs = append(many.Outputs, fmt.Sprintf("Pod prod/out-%03d of /ConfigMap/prod/in-%03d", i, i))
	}
	observed := many.observed(t, v)
	before := printedFingerprints(t, v, observed)
	observed.Inputs[123].SetResourceVersion("2")
	set(observed.Parent, int64(500), "status", "inputs", "configmaps", "total")
	observed.Parent.SetResourceVersion("10")
	var changed []int
	seen := map[string]bool{}
	for i, fingerprint := range printedFingerprints(t, v, observed) {
		seen[fingerprint] = true
		if fingerprint != before[i] {
			changed = append(changed, i)
		}
	}
	if !slices.Equal(changed, []int{123}) || len(seen) != 500 {
		t.Errorf("want the fingerprint of input 123 alone to change, got %v; %d fingerprints for 500 inputs", changed, len(seen))
	}
}
