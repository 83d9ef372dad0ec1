package informer

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

func TestPairs(t *testing.T) {
	cases := map[string]struct {
		reason   string
		selector string
		want     []string
	}{
		"Equality":    {"An equality has one pair.", "app=web", []string{"app=web"}},
		"Set":         {"A set requirement has one pair for each value.", "app in (a,b)", []string{"app=a", "app=b"}},
		"Fewest":      {"Of several requirements the one with the fewest values is used.", "app in (a,b),tier=x", []string{"tier=x"}},
		"Existence":   {"A requirement without values is indexed by *.", "app", []string{"*"}},
		"NotEqual":    {"An exclusion is indexed by *.", "app!=web", []string{"*"}},
		"Twice":       {"A duplicate value is looked up once.", "app in (a,a)", []string{"app=a"}},
		"Everything":  {"The empty selector is indexed by *.", "", []string{"*"}},
		"MixedExists": {"Requirements without values are ignored if others have some.", "a,b=c,!d", []string{"b=c"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			selector, err := labels.Parse(tc.selector)
			if err != nil {
				t.Fatal(err)
			}
			got := Pairs(selector)
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
	if got := Pairs(labels.Nothing()); got != nil {
		t.Errorf("a selector that matches nothing has pairs %v", got)
	}
}

// TestPairsIntersect checks that a selector shares exactly one pair with labels that it matches.
// Otherwise objects would be missed or found twice.
func TestPairsIntersect(t *testing.T) {
	sets := []labels.Set{{}, {"app": "web"}, {"app": "a", "tier": "x"}, {"b": "c", "a": "1"}}
	for _, text := range []string{"", "app", "app=web", "app in (a,b)", "app in (a,b),tier=x", "a,b=c", "tier!=y"} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			shared := 0
			for _, pair := range Pairs(selector) {
				if slices.Contains(PairsOf(set), pair) {
					shared++
				}
				if want := slices.Contains(labelValues(labelled("ns", set)), namespacedValue("ns", pair)); want != slices.Contains(PairsOf(set), pair) {
					t.Errorf("%q and %v: objects and parents are indexed differently", text, set)
				}
			}
			if selector.Matches(set) && shared != 1 {
				t.Errorf("%q matches %v, and they share %d pairs, want 1", text, set, shared)
			}
		}
	}
}

func labelled(namespace string, set map[string]string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetNamespace(namespace)
	o.SetLabels(set)
	return o
}

func TestSmallest(t *testing.T) {
	type note struct {
		namespace, pair string
		size            int
	}
	cases := map[string]struct {
		reason   string
		notes    []note
		selector string
		want     []string
	}{
		"Unknown":   {"Without recorded sizes, the fewest values win.", nil, "app in (a,b),tier=x", []string{"tier=x"}},
		"Frequent":  {"A label of many objects is avoided if there is another.", []note{{"ns", "app=web", 5000}}, "app=web,tier=x", []string{"tier=x"}},
		"Sum":       {"The sizes of a requirement's values are summed.", []note{{"ns", "app=a", 500}, {"ns", "app=b", 500}, {"ns", "tier=x", 900}}, "app in (a,b),tier=x", []string{"tier=x"}},
		"Alone":     {"A frequent label is used if it is the only one.", []note{{"ns", "app=web", 5000}}, "app=web", []string{"app=web"}},
		"Elsewhere": {"Sizes are per namespace.", []note{{"other", "app=web", 5000}}, "app=web,tier=x", []string{"app=web"}},
		"Left":      {"A small size replaces a recorded one.", []note{{"ns", "app=web", 5000}, {"ns", "app=web", 3}}, "app=web,tier=x", []string{"app=web"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s sharedInformer
			for _, n := range tc.notes {
				s.recordIndexSize("orphan", n.namespace, n.pair, n.size)
			}
			selector, err := labels.Parse(tc.selector)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, s.smallest("orphan", "ns", alternatives(selector))); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
