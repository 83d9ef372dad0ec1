package parent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRebase(t *testing.T) {
	type fields = map[string]any
	cases := map[string]struct {
		reason              string
		base, desired, live fields
		want                fields // nil means that it can't be done
	}{
		"Others":    {"what others have added stays", fields{"n": int64(1)}, fields{"n": int64(2)}, fields{"n": int64(1), "beat": int64(7)}, fields{"n": int64(2), "beat": int64(7)}},
		"OthersOld": {"what others have changed is not set back", fields{"beat": int64(1)}, fields{"beat": int64(1), "n": int64(2)}, fields{"beat": int64(2)}, fields{"beat": int64(2), "n": int64(2)}},
		"Removed":   {"what is no longer wanted goes", fields{"a": "x"}, fields{}, fields{"a": "x", "b": "y"}, fields{"b": "y"}},
		"OthersDid": {"what others have removed stays away", fields{"a": "x"}, fields{"a": "x"}, fields{}, fields{}},
		"Nested": {
			"it goes field by field", fields{"in": fields{"a": int64(1), "b": int64(1)}}, fields{"in": fields{"a": int64(2), "b": int64(1)}},
			fields{"in": fields{"a": int64(1), "b": int64(3)}}, fields{"in": fields{"a": int64(2), "b": int64(3)}},
		},
		"NestedNew": {"two may begin an object", fields{}, fields{"in": fields{"a": int64(2)}}, fields{"in": fields{"b": int64(3)}}, fields{"in": fields{"a": int64(2), "b": int64(3)}}},
		"Agreed":    {"others may want the same", fields{"a": "x"}, fields{"a": "y"}, fields{"a": "y"}, fields{"a": "y"}},
		"Both":      {"what the hook has not seen is not overwritten", fields{"a": "x"}, fields{"a": "y"}, fields{"a": "z"}, nil},
		"Lists":     {"lists are values", fields{"l": []any{"a"}}, fields{"l": []any{"a", "b"}}, fields{"l": []any{"a", "c"}}, nil},
		"Kinds":     {"another shape is another value", fields{"a": "x"}, fields{"a": fields{"b": "c"}}, fields{"a": fields{"d": "e"}}, nil},
		"None":      {"there may be no status so far", nil, fields{"a": "x"}, nil, fields{"a": "x"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := threeWayMerge(tc.base, tc.desired, tc.live)
			if ok != (tc.want != nil) {
				t.Errorf("%s: it can be done: %v", tc.reason, ok)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}
