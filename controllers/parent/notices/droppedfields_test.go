package notices

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLostFields(t *testing.T) {
	type fields = map[string]any
	cases := map[string]struct {
		reason       string
		sent, stored any
		custom       bool
		want         []string
	}{
		"Same":    {"all is stored", fields{"a": "1"}, fields{"a": "1"}, true, nil},
		"Top":     {"a field of the status", fields{"b": int64(1), "a": fields{"x": "1"}}, fields{}, true, []string{"status.a", "status.b"}},
		"Nested":  {"a field of a field", fields{"a": fields{"x": "1", "y": "2"}}, fields{"a": fields{"x": "1"}}, true, []string{"status.a.y"}},
		"Item":    {"a field of an item", fields{"a": []any{fields{"x": "1"}, fields{"y": "1"}}}, fields{"a": []any{fields{"x": "1"}, fields{}}}, true, []string{"status.a[1].y"}},
		"Length":  {"others write the list too", fields{"a": []any{fields{"x": "1"}}}, fields{"a": []any{fields{}, fields{}}}, true, nil},
		"Value":   {"another form is no loss", fields{"a": "1000m"}, fields{"a": "1"}, true, nil},
		"Null":    {"null asks for nothing", fields{"a": nil}, fields{}, true, nil},
		"Empty":   {"a schema drops a false that it does not have", fields{"a": false}, fields{}, true, []string{"status.a"}},
		"BuiltIn": {"a built-in kind keeps no false", fields{"a": false, "b": true}, fields{}, false, []string{"status.b"}},
		"None":    {"nothing is stored", fields{"a": "1"}, fields(nil), true, []string{"status.a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, LostFields(nil, "status", tc.sent, tc.stored, tc.custom)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestDroppedFieldsOnce checks that a field is reported once for a revision, and that there is a limit.
func TestDroppedFieldsOnce(t *testing.T) {
	d := NewDroppedFields()
	if !d.IsFirst("r1", "a") || d.IsFirst("r1", "a") || !d.IsFirst("r2", "a") || d.IsFirst("r2", "a") {
		t.Error("a field is not reported once for a revision")
	}
	reported := 0
	for i := range 100 {
		if d.IsFirst("r2", string(rune('b'+i))) {
			reported++
		}
	}
	if reported != maxDroppedFields-1 {
		t.Errorf("%d more fields are reported", reported)
	}
}
