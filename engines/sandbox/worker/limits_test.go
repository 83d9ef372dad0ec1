package worker

import "testing"

func TestGCPercent(t *testing.T) {
	cases := map[string]struct {
		reason string
		live   uint64
		want   int
	}{
		"none":  {"no division by zero", 0, 1000},
		"small": {"a small heap may have much garbage", 8 << 20, 500},
		"large": {"as much garbage as live data", 40 << 20, 100},
		"huge":  {"a minimum avoids constant collection", 1 << 30, 25},
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
