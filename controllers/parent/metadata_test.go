package parent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAddDifference(t *testing.T) {
	text := func(s string) *string { return &s }
	cases := map[string]struct {
		reason  string
		current map[string]string
		desired map[string]*string
		want    map[string]any
	}{
		"Nothing": {
			"An equal value is no change.", map[string]string{"a": "1", "b": "2"}, map[string]*string{"a": text("1")}, map[string]any{},
		},
		"Set": {
			"A different value is set, and nothing else.", map[string]string{"a": "1", "b": "2"}, map[string]*string{"a": text("3")},
			map[string]any{"labels": map[string]any{"a": "3"}},
		},
		"Empty": {
			"An empty value is a value.", nil, map[string]*string{"a": text("")}, map[string]any{"labels": map[string]any{"a": ""}},
		},
		"Remove": {
			"Null removes.", map[string]string{"a": "1"}, map[string]*string{"a": nil},
			map[string]any{"labels": map[string]any{"a": nil}},
		},
		"RemoveAbsent": {"An absent entry is not removed.", nil, map[string]*string{"a": nil}, map[string]any{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string]any{}
			addDifference(got, "labels", tc.current, tc.desired)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
