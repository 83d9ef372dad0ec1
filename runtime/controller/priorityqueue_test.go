package controller

import (
	"runtime"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPriorityQueue(t *testing.T) {
	key := func(name string) Key { return Key{Name: name} }
	cases := map[string]struct {
		reason string
		do     func(*priorityQueue)
		want   []string
	}{
		"ArrivalOrder": {
			reason: "Keys of one lane leave in the order of their arrival.",
			do:     func(l *priorityQueue) { l.Push(key("a")); l.Push(key("b")) },
			want:   []string{"a", "b"},
		},
		"FreshFirst": {
			reason: "A key with an event overtakes those that wait for a resync.",
			do:     func(l *priorityQueue) { l.Push(key("resync")); l.markFresh(key("event")); l.Push(key("event")) },
			want:   []string{"event", "resync"},
		},
		"TouchMoves": {
			reason: "A waiting key that meets an event moves to the fresh ones, and is there once.",
			do: func(l *priorityQueue) {
				l.Push(key("a"))
				l.Push(key("b"))
				l.markFresh(key("b"))
				l.Touch(key("b"))
			},
			want: []string{"b", "a"},
		},
		"TouchWithoutEvent": {
			reason: "A key that is added again without an event keeps its place.",
			do:     func(l *priorityQueue) { l.Push(key("a")); l.Push(key("b")); l.Touch(key("b")) },
			want:   []string{"a", "b"},
		},
		"MovedAndBack": {
			reason: "A key that moved, left and came back as a resync is still there once.",
			do: func(l *priorityQueue) {
				l.Push(key("a"))
				l.Push(key("b"))
				l.markFresh(key("a"))
				l.Touch(key("a"))
				l.Pop()
				l.Push(key("a"))
			},
			want: []string{"a", "b"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			l := newPriorityQueue()
			tc.do(l)
			var got []string
			for l.Len() > 0 {
				got = append(got, l.Pop().Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEmptyQueueIsSmall checks that a burst of keys leaves no memory behind, and that the queue goes on.
func TestEmptyQueueIsSmall(t *testing.T) {
	const keys, most = 20_000, 200 << 10
	q := newPriorityQueue()
	before := liveHeap()
	for i := range keys {
		key := Key{Name: strconv.Itoa(i)}
		if i%2 == 0 {
			q.markFresh(key)
		}
		if q.Push(key); i%4 == 1 {
			q.markFresh(key)
			q.Touch(key)
		}
	}
	taken := map[Key]bool{}
	for q.Len() > 0 {
		taken[q.Pop()] = true
	}
	if len(taken) != keys {
		t.Errorf("%d keys of %d", len(taken), keys)
	}
	if left := liveHeap() - before; left > most {
		t.Errorf("an empty queue takes %d bytes", left)
	}
	if q.Push(Key{Name: "a"}); q.Len() != 1 || q.Pop().Name != "a" || q.Len() != 0 {
		t.Error("the queue loses a key after the burst")
	}
}

func liveHeap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
