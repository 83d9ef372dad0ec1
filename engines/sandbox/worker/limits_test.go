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
			if got := gcPercent(c.live, maxGarbage); got != c.want {
				t.Errorf("%d bytes: %d, want %d", c.live, got, c.want)
			}
		})
	}
}

func TestGarbageAllowance(t *testing.T) {
	l := limits{garbage: minGarbage}
	steps := []struct {
		reason    string
		allocated uint64
		want      int64
	}{
		{"small questions need no more", 100 << 10, minGarbage},
		{"of larger ones it is that of some", 3 << 20, 24 << 20},
		{"it does not change with each question", 1 << 10, 24 << 20},
		{"it is bounded", 1 << 40, maxGarbage},
	}
	for _, s := range steps {
		if l.note(s.allocated); l.garbage != s.want {
			t.Errorf("%s: %d after %d bytes, want %d", s.reason, l.garbage, s.allocated, s.want)
		}
	}
	if l.reset(); l.garbage != minGarbage {
		t.Error("an idle worker keeps what large questions needed")
	}
}
