package scripts

import (
	"testing"
	"time"
)

func TestPauseOfArchive(t *testing.T) {
	cases := map[string]struct {
		reason     string
		took, want time.Duration
	}{
		"quick": {"ten a second", time.Millisecond, 100 * time.Millisecond},
		"large": {"a fifth of the time", 200 * time.Millisecond, 800 * time.Millisecond},
		"slow":  {"the API server was slow: what waits would be lost with the process", 3 * time.Second, time.Second},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := pauseAfter(c.took); got != c.want {
				t.Errorf("the pause is %s, want %s", got, c.want)
			}
		})
	}
}
