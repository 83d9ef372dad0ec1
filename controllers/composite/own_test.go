package composite

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// unlabel removes the label that metacontroller does not set.
func unlabel(revision *unstructured.Unstructured) {
	set := revision.GetLabels()
	delete(set, v1alpha1.CompositeLabel)
	revision.SetLabels(set)
}

// TestOwnRevisions checks which revisions belong to two definitions that roll out items and
// notes of one parent.
func TestOwnRevisions(t *testing.T) {
	cases := map[string]struct {
		reason string
		// all are revisions as "name label kinds", of which the label may be "-".
		all          []string
		items, notes string
	}{
		"Labelled":     {"What has a label is the one's that it names.", []string{"a items Item", "b notes Note", "c items", "d notes"}, "a c", "b d"},
		"LabelDecides": {"Whatever it claims.", []string{"a items Note", "b notes Item"}, "a", "b"},
		"Gone":         {"That of a third one is neither's.", []string{"a third Item"}, "", ""},
		"Unlabelled":   {"What has none is whose children it names.", []string{"a - Item", "b - Note"}, "a", "b"},
		"Both":         {"What names children of both is labelled by the first who writes to it.", []string{"a - Item,Note"}, "a", "a"},
		"History":      {"What names no children is that of the only one that there is.", []string{"a - Item", "b -"}, "a b", ""},
		"HistoryOfTwo": {"Of two, it is nobody's.", []string{"a - Item", "b -", "c notes Note"}, "a", "c"},
		"Unknown":      {"Where nobody is known yet, it is labelled by the first who writes to it.", []string{"a -"}, "a", "a"},
		"Strange":      {"A kind that neither has does not tell.", []string{"a - Other", "b - Item", "c -"}, "b", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for definition, want := range map[string]string{"items": tc.items, "notes": tc.notes} {
				var all []*unstructured.Unstructured
				for _, line := range tc.all {
					all = append(all, revisionOf(line))
				}
				rule := variant.ChildRule{Resource: items}
				if definition == "notes" {
					rule.Resource = notes
				}
				v := New(Config{Definition: map[string]any{"metadata": map[string]any{"name": definition}}, Spec: v1alpha1.CompositeControllerSpec{Hooks: &v1alpha1.CompositeHooks{Sync: &v1alpha1.Hook{}}}, Children: []variant.ChildRule{rule}})
				var got []string
				for _, revision := range v.OwnRevisions(all) {
					got = append(got, revision.GetName())
				}
				slices.Sort(got)
				if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
					t.Errorf("%s: %s\n-want +got:\n%s", definition, tc.reason, diff)
				}
			}
		})
	}
}

func revisionOf(line string) *unstructured.Unstructured {
	words := append(strings.Fields(line), "")
	revision := &unstructured.Unstructured{Object: map[string]any{"parentPatch": map[string]any{}}}
	revision.SetName(words[0])
	if words[1] != "-" {
		revision.SetLabels(map[string]string{v1alpha1.CompositeLabel: words[1]})
	}
	var ids []childID
	for _, kind := range strings.FieldsFunc(words[2], func(r rune) bool { return r == ',' }) {
		id := childID{items.Kind.GroupKind(), "x"}
		id.Kind = kind
		ids = append(ids, id)
	}
	setChildIDs(revision, ids)
	return revision
}

// TestTwoDefinitions makes two definitions roll out for one parent at the same time, each with
// its own revisions: neither writes to the other's, and in the end both write nothing.
func TestTwoDefinitions(t *testing.T) {
	first := newEnv(t, childInOne, "{method: RollingInPlace}", "a", "b")
	second := newEnv(t, bothInNone, "{method: RollingInPlace}", "x", "y")
	second.config.Definition = map[string]any{"metadata": map[string]any{"name": "others"}}
	second.config.Children = second.config.Children[:1]
	var all []*unstructured.Unstructured
	both := func() (writes int) {
		for _, e := range []*env{first, second} {
			own := New(e.config).OwnRevisions(all)
			rest := slices.DeleteFunc(slices.Clone(all), func(r *unstructured.Unstructured) bool { return slices.Contains(own, r) })
			e.revisions = own
			writes += e.reconcile(t)
			for _, r := range e.revisions {
				if slices.ContainsFunc(rest, func(o *unstructured.Unstructured) bool { return o.GetName() == r.GetName() }) {
					t.Fatalf("%s is of both definitions", r.GetName())
				}
			}
			all = append(rest, e.revisions...)
			e.becomeReady()
		}
		return writes
	}
	for _, image := range []string{"v2", "v3", "v2"} {
		first.setImage(image)
		second.setImage(image)
		for range 10 {
			both()
		}
		if n := both(); n != 0 {
			t.Errorf("at %s, a reconcile of each after the end writes %d times", image, n)
		}
		if got := images(first.children) + ", " + images(second.children); got != strings.ReplaceAll("a=IMAGE b=IMAGE, x=IMAGE y=IMAGE", "IMAGE", image) {
			t.Errorf("at %s, the children are %s", image, got)
		}
	}
}
