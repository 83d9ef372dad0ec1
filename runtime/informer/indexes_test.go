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
		"Equality":    {"An equality names its label.", "app=web", []string{"app=web"}},
		"Set":         {"A set requirement names one label for each value.", "app in (a,b)", []string{"app=a", "app=b"}},
		"Fewest":      {"Of several requirements the one with the fewest values tells most.", "app in (a,b),tier=x", []string{"tier=x"}},
		"Existence":   {"A requirement that names no value is found among all.", "app", []string{"*"}},
		"NotEqual":    {"An exclusion names no value that must be there.", "app!=web", []string{"*"}},
		"Everything":  {"The empty selector is found among all.", "", []string{"*"}},
		"MixedExists": {"Requirements without values do not hide those with.", "a,b=c,!d", []string{"b=c"}},
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

// A selector that matches a set of labels must share a pair with it, and never
// two, or objects would be missed or found twice.
func TestPairsMeet(t *testing.T) {
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
				if want := slices.Contains(labelValues(labelled("ns", set)), scoped("ns", pair)); want != slices.Contains(PairsOf(set), pair) {
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
