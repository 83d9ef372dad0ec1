package engines

import (
	"math"
	"testing"
)

func TestRounded(t *testing.T) {
	cases := map[string]struct {
		reason string
		given  any
		number float64
		want   any
		ok     bool
	}{
		"Unknown":   {"A number that was not given is what it is.", nil, 1 << 60, int64(1 << 60), true},
		"Fraction":  {"So is a fraction.", []any{int64(1<<53 + 1)}, 0.5, 0.5, true},
		"Small":     {"Up to 2^53 nothing is rounded.", []any{int64(1<<53 - 1)}, 1<<53 - 1, int64(1<<53 - 1), true},
		"Rounded":   {"The digits come back.", map[string]any{"a": []any{int64(1<<53 + 1)}}, 1 << 53, int64(1<<53 + 1), true},
		"Negative":  {"So do those of negative ones.", []any{int64(-1<<53 - 1)}, -1 << 53, int64(-1<<53 - 1), true},
		"Largest":   {"The largest is rounded to what is no int64.", []any{int64(math.MaxInt64)}, 1 << 63, int64(math.MaxInt64), true},
		"Twice":     {"The same integer may be given twice.", []any{int64(1<<53 + 1), int64(1<<53 + 1)}, 1 << 53, int64(1<<53 + 1), true},
		"Several":   {"Which of two integers it was is not known.", []any{int64(1<<53 + 1), int64(1 << 53)}, 1 << 53, nil, false},
		"OtherPair": {"Others are not concerned.", []any{int64(1<<53 + 1), int64(1 << 53), int64(1<<62 + 1)}, 1 << 62, int64(1<<62 + 1), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := Rounded{}
			r.NoteAll(tc.given)
			if got, ok := r.Number(tc.number); ok != tc.ok || ok && got != tc.want {
				t.Errorf("%s: got %v, %v, want %v, %v", tc.reason, got, ok, tc.want, tc.ok)
			}
		})
	}
}
