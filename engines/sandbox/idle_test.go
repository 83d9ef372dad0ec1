package sandbox

import (
	"slices"
	"testing"
	"time"
)

func TestIdleFor(t *testing.T) {
	now := time.Now()
	type worker struct {
		idle time.Duration // since its last call, or zero if it had none
		busy bool
	}
	cases := map[string]struct {
		reason  string
		workers []worker
		want    []int
		more    bool
	}{
		"None":  {reason: "without workers there is nothing to end"},
		"Spare": {reason: "the spare one had no call, and stays", workers: []worker{{}, {}}},
		"Last":  {reason: "the one that was used last stays, with the spare one", workers: []worker{{idle: time.Hour}, {}}},
		"Long":  {reason: "others end", workers: []worker{{idle: time.Hour}, {idle: 2 * time.Hour}, {idle: 3 * time.Hour}, {}}, want: []int{1, 2}},
		"Short": {reason: "not before their time", workers: []worker{{idle: time.Second}, {idle: 2 * time.Second}, {}}, more: true},
		"Busy":  {reason: "one that has a call will be idle", workers: []worker{{busy: true, idle: time.Hour}, {idle: time.Second}}, more: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &Pool{processes: map[*process]bool{}}
			for i, w := range tc.workers {
				one := &process{slot: i}
				if w.idle > 0 {
					one.idleSince = now.Add(-w.idle)
				}
				p.processes[one] = !w.busy
			}
			idle, more := p.idleFor(time.Minute, now)
			var slots []int
			for _, w := range idle {
				slots = append(slots, w.slot)
			}
			if slices.Sort(slots); !slices.Equal(slots, tc.want) || more != tc.more {
				t.Errorf("%s: got %v, %v", tc.reason, slots, more)
			}
		})
	}
}
