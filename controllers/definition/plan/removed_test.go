package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

func kindNamed(name string) discovery.Resource {
	name, version, found := strings.Cut(name, "/")
	if !found {
		version = "v1"
	}
	group := schema.GroupVersion{Group: "example.com", Version: version}
	return discovery.Resource{Kind: group.WithKind(name), GroupVersionResource: group.WithResource(strings.ToLower(name) + "s")}
}

// planOf returns a plan with parents and children of kinds, as "A B > C D". A kind may have a version, as "C/v2".
func planOf(kinds string) *Plan {
	p := &Plan{Generation: 4, Kind: v1alpha1.DecoratorControllerKind}
	parents, children, _ := strings.Cut(kinds, ">")
	for kind := range strings.FieldsSeq(parents) {
		p.Config.Parents = append(p.Config.Parents, variant.ParentRule{Resource: kindNamed(kind)})
	}
	for kind := range strings.FieldsSeq(children) {
		p.Config.Children = append(p.Config.Children, variant.ChildRule{Resource: kindNamed(kind)})
	}
	return p
}

// fakeCounts counts objects by kind.
type fakeCounts map[string]int

func (l fakeCounts) ParentsOf(kind schema.GroupKind) int { return l[kind.Kind] }

func (l fakeCounts) ChildrenOf(kind schema.GroupKind) (count int, example string) {
	return l[kind.Kind], kind.Kind + " shop/first"
}

func (l fakeCounts) NotSelected(rule variant.ParentRule) int {
	return l["not selected "+rule.Kind.Kind]
}

func TestDeselectedParents(t *testing.T) {
	cases := map[string]struct {
		reason, before, after string
		finalizing            bool
		left                  fakeCounts
		want                  string
	}{
		"Selected":     {"An edit that leaves no parent out needs no warning.", "A > B", "A > B", false, fakeCounts{"A": 1, "B": 2}, ""},
		"Left out":     {"Parents that are none any more are counted.", "A > B", "A > B", false, fakeCounts{"A": 3, "B": 2, "not selected A": 2}, "ParentsNotSelected 2 as resources"},
		"Each":         {"Those of each kind are.", "A B > C", "A B > C", false, fakeCounts{"C": 2, "not selected A": 2, "not selected B": 1}, "ParentsNotSelected 2 as resources ParentsNotSelected 1 bs resources"},
		"No children":  {"Nothing is left behind if there are no children.", "A > B", "A > B", false, fakeCounts{"A": 3, "not selected A": 3}, ""},
		"Finalized":    {"Nor if the finalize hook is called for them.", "A > B", "A > B", true, fakeCounts{"A": 3, "B": 2, "not selected A": 3}, ""},
		"Another kind": {"A kind that is gone has a warning of its own.", "A > B", "C > B", false, fakeCounts{"A": 3, "B": 2}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := planOf(tc.before), planOf(tc.after)
			before.Config.Finalizing.Enabled, after.Config.Finalizing.Enabled = tc.finalizing, tc.finalizing
			var got []string
			for _, w := range deselectedParents(before, after, tc.left) {
				got = append(got, w.Reason)
				for word := range strings.FieldsSeq(w.Message) {
					word, _, _ = strings.Cut(word, ".")
					if slices.Contains([]string{"1", "2", "3", "as", "bs", "resources"}, word) {
						got = append(got, word)
					}
				}
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, " ")); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRemovedResources(t *testing.T) {
	cases := map[string]struct {
		reason, before, after string
		left                  fakeCounts
		want                  []string
	}{
		"Kept":     {"Resources that stay need no warning.", "A > B", "A > B", fakeCounts{"A": 1, "B": 2}, nil},
		"Child":    {"Children of a removed kind are reported with their number.", "A > B C", "A > C", fakeCounts{"A": 1, "B": 2, "C": 3}, []string{"ChildResourceRemoved 2 bs attachments"}},
		"Unused":   {"Unless there are none.", "A > B C", "A > C", fakeCounts{"A": 1, "C": 3}, nil},
		"Parent":   {"So are parents.", "A B > C", "B > C", fakeCounts{"A": 7, "B": 2, "C": 3}, []string{"ParentResourceRemoved 7 as resources"}},
		"All":      {"Each is reported.", "A > B C", "D >", fakeCounts{"A": 1, "B": 2, "C": 3}, []string{"ParentResourceRemoved 1 as resources", "ChildResourceRemoved 2 bs attachments", "ChildResourceRemoved 3 cs attachments"}},
		"Version":  {"Children of a kind in another version are managed as before.", "A/v1 > B/v1", "A/v2 > B/v2", fakeCounts{"A": 1, "B": 2}, nil},
		"Example":  {"One of them is named.", "A > B", "A >", fakeCounts{"A": 1, "B": 2}, []string{"ChildResourceRemoved B shop/first:"}},
		"Replaced": {"Even if others are added.", "A > B", "A > C", fakeCounts{"A": 1, "B": 2}, []string{"ChildResourceRemoved 2 bs attachments"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			for i, w := range removedResources(planOf(tc.before), planOf(tc.after), tc.left) {
				line := w.Reason
				for _, word := range strings.Fields(tc.want[min(i, len(tc.want)-1)])[1:] {
					if strings.Contains(w.Message, word) {
						line += " " + word
					}
				}
				if !strings.Contains(w.Message, "generation 4") {
					t.Errorf("%q does not have the generation", w.Message)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestListCommand has a tenant, who may not list what is in other namespaces, and a decorator of several kinds.
func TestListCommand(t *testing.T) {
	const columns = "-o custom-columns=NAMESPACE:.metadata.namespace,NAME:.metadata.name,OWNER:.metadata.ownerReferences..kind"
	for namespace, want := range map[string]string{
		"":     "kubectl get bs.example.com -A " + columns + " | grep -w -e A -e D",
		"shop": "kubectl get bs.example.com -n shop " + columns + " | grep -w -e A -e D",
	} {
		p := planOf("A D > B")
		p.Namespace = namespace
		if diff := cmp.Diff(want, listCommand(p, p.Config.Children[0])); diff != "" {
			t.Errorf("namespace %q: -want +got:\n%s", namespace, diff)
		}
	}
}
