package worker

import "testing"

func TestGCPercent(t *testing.T) {
	cases := map[string]struct {
		reason string
		live   uint64
		want   int
	}{
		"none":  {"nothing is divided by it", 0, 1000},
		"small": {"most is garbage, and soon gone", 8 << 20, 500},
		"large": {"as much as the heap", 40 << 20, 100},
		"huge":  {"it must not collect all the time", 1 << 30, 25},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := gcPercent(c.live); got != c.want {
				t.Errorf("%d bytes: %d, want %d", c.live, got, c.want)
			}
		})
	}
}
