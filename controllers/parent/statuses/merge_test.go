package statuses

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestThreeWayMerge(t *testing.T) {
	type fields = map[string]any
	cases := map[string]struct {
		reason              string
		base, desired, live fields
		want                fields // nil means a conflict
	}{
		"Others": {
			"a field that others have added is kept", fields{"n": int64(1)}, fields{"n": int64(2)},
			fields{"n": int64(1), "beat": int64(7)}, fields{"n": int64(2), "beat": int64(7)},
		},
		"OthersOld": {
			"a change of others is not reverted", fields{"beat": int64(1)}, fields{"beat": int64(1), "n": int64(2)},
			fields{"beat": int64(2)}, fields{"beat": int64(2), "n": int64(2)},
		},
		"Removed": {
			"a field that is no longer desired is removed", fields{"a": "x"}, fields{}, fields{"a": "x", "b": "y"}, fields{"b": "y"},
		},
		"OthersDid": {"a field that others have removed is not restored", fields{"a": "x"}, fields{"a": "x"}, fields{}, fields{}},
		"Nested": {
			"objects are merged field by field", fields{"in": fields{"a": int64(1), "b": int64(1)}},
			fields{"in": fields{"a": int64(2), "b": int64(1)}},
			fields{"in": fields{"a": int64(1), "b": int64(3)}}, fields{"in": fields{"a": int64(2), "b": int64(3)}},
		},
		"NestedNew": {
			"both add an object", fields{}, fields{"in": fields{"a": int64(2)}}, fields{"in": fields{"b": int64(3)}},
			fields{"in": fields{"a": int64(2), "b": int64(3)}},
		},
		"Agreed": {"others have made the same change", fields{"a": "x"}, fields{"a": "y"}, fields{"a": "y"}, fields{"a": "y"}},
		"Both":   {"others have changed the same field", fields{"a": "x"}, fields{"a": "y"}, fields{"a": "z"}, nil},
		"Lists":  {"lists are values", fields{"l": []any{"a"}}, fields{"l": []any{"a", "b"}}, fields{"l": []any{"a", "c"}}, nil},
		"Kinds":  {"both have made it an object", fields{"a": "x"}, fields{"a": fields{"b": "c"}}, fields{"a": fields{"d": "e"}}, nil},
		"None":   {"there is no status yet", nil, fields{"a": "x"}, nil, fields{"a": "x"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := ThreeWayMerge(tc.base, tc.desired, tc.live)
			if ok != (tc.want != nil) {
				t.Errorf("%s: merged: %v", tc.reason, ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
