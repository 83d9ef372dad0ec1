package jsonvalue

import (
	"math"
	"testing"
)

func TestEqual(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   any
		want   bool
	}{
		"Numbers":     {reason: "1 is 1.0", a: int64(1), b: 1.0, want: true},
		"Large":       {reason: "no two large numbers become one", a: int64(math.MaxInt64), b: float64(math.MaxInt64)},
		"Fraction":    {reason: "1 is not 1.5", a: int64(1), b: 1.5},
		"Null":        {reason: "a field that is null is as good as none", a: map[string]any{"x": nil}, b: map[string]any{}, want: true},
		"NoObject":    {reason: "an object that is nil is empty", a: map[string]any(nil), b: map[string]any{}, want: true},
		"NullItem":    {reason: "an item that is null is an item", a: []any{nil}, b: []any{}},
		"Field":       {reason: "another field", a: map[string]any{"x": "1"}, b: map[string]any{"y": "1"}},
		"Types":       {reason: "an object is no list", a: map[string]any{}, b: []any{}},
		"TextNumber":  {reason: "a text is no number", a: "1", b: int64(1)},
		"Bool":        {reason: "false is not null", a: false, b: nil},
		"ForeignType": {reason: "what is no JSON is compared without a panic", a: []string{"a"}, b: []string{"a"}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Equal(tc.a, tc.b); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
			if got := Equal(tc.b, tc.a); got != tc.want {
				t.Errorf("%s, the other way round: got %v", tc.reason, got)
			}
		})
	}
}
