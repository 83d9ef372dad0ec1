package engines_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestReadSetContains(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    engines.ReadSet
		path   string
		want   bool
	}{
		"Same":       {"What was read is in it.", engines.ReadSet{"children"}, "children", true},
		"Other":      {"What was not is not.", engines.ReadSet{"children"}, "parent", false},
		"Below":      {"All below what was read was.", engines.ReadSet{"parent"}, "parent.metadata.labels", true},
		"Above":      {"What has a part that was read counts.", engines.ReadSet{"parent.metadata.labels"}, "parent", true},
		"Sibling":    {"What is beside it does not.", engines.ReadSet{"parent.metadata.labels"}, "parent.metadata.name", false},
		"SamePrefix": {"Fields are not compared by their first letters.", engines.ReadSet{"parent.spec"}, "parent.specs", false},
		"Empty":      {"An empty set has nothing.", engines.ReadSet{}, "parent", false},
		"Unknown":    {"If it is not known, all may have been read.", nil, "parent", true},
	}
	for name, tc := range cases {
		if got := tc.set.Contains(tc.path); got != tc.want {
			t.Errorf("%s: %v: %s", name, got, tc.reason)
		}
	}
}

func TestReadSetUnion(t *testing.T) {
	cases := map[string]struct {
		reason     string
		a, b, want engines.ReadSet
	}{
		"Both":     {"Paths are sorted, and each is there once.", engines.ReadSet{"b", "d"}, engines.ReadSet{"a", "b"}, engines.ReadSet{"a", "b", "d"}},
		"Covered":  {"A path stands for those below it.", engines.ReadSet{"a.b.c", "ab"}, engines.ReadSet{"a"}, engines.ReadSet{"a", "ab"}},
		"Nothing":  {"Nothing is no unknown.", engines.ReadSet{}, engines.ReadSet{}, engines.ReadSet{}},
		"Unknown":  {"What is not known stays so.", nil, engines.ReadSet{"a"}, nil},
		"Unknown2": {"On both sides.", engines.ReadSet{"a"}, nil, nil},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, tc.a.Union(tc.b)); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
}

// TestReadsAreBounded has a program that asks for more fields than are noted.
func TestReadsAreBounded(t *testing.T) {
	var many, long engines.Reads
	for i := range 1000 {
		many.Field(fmt.Sprint("f", i), nil)
	}
	long.Field(strings.Repeat("x", 1000), nil)
	if many.Set() != nil || long.Set() != nil {
		t.Error("what is too much to note does not count as all")
	}
}
