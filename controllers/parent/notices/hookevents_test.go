package notices

import (
	"fmt"
	"math"
	"strings"
	"syscall"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// asked returns events with the words of a text as messages.
func asked(e *HookEvents, words string) (events []RequestedEvent) {
	for word := range strings.FieldsSeq(words) {
		events = append(events, e.Request(variant.Event{Type: "Normal", Reason: "Said", Message: word}))
	}
	return events
}

// describe returns the messages of the events that are emitted, with signs for the others.
func (c choice) describe() string {
	var words []string
	for _, event := range c.Emit {
		words = append(words, event.Message)
	}
	words = append(words, strings.Repeat("=", c.Repeated), strings.Repeat("-", c.Dropped))
	text := strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	if c.FirstDropped {
		text += "!"
	}
	return text
}

// TestHookEvents checks which events of the answers about one parent are emitted, one after the other.
func TestHookEvents(t *testing.T) {
	type answer struct {
		words string
		wrote bool
		want  string
	}
	cases := map[string]struct {
		reason  string
		resumed bool
		created int64
		answers []answer
	}{
		"Repeated": {
			reason:  "An event is emitted when the answer before did not have it.",
			answers: []answer{{words: "a", want: "a"}, {words: "a", want: "="}, {words: "a b", want: "b ="}, {words: "b", want: "="}, {}, {words: "b", want: "b"}},
		},
		"Twice": {
			reason: "An answer has the same event once.", answers: []answer{{words: "a a", want: "a"}},
		},
		"Flood": {
			reason:  "Beyond the limit events are dropped, which is reported once. 3 are emitted at once.",
			answers: []answer{{words: "a b c d", want: "a b c -!"}, {words: "e", want: "-"}, {words: "f", want: "-"}},
		},
		"Resumed": {
			reason:  "An earlier process has emitted the events of an answer for which nothing is to be written.",
			resumed: true, answers: []answer{{words: "a", want: "="}, {words: "a b", want: "b ="}},
		},
		"ResumedAndWrote": {
			reason:  "Something has changed since.",
			resumed: true, answers: []answer{{words: "a", wrote: true, want: "a"}, {words: "a", want: "="}},
		},
		"ResumedWithNone": {
			reason:  "The answer before had none.",
			resumed: true, answers: []answer{{}, {words: "a", want: "a"}},
		},
		"ResumedAndNew": {
			reason:  "No earlier process has seen the parent.",
			resumed: true, created: 11, answers: []answer{{words: "a", want: "a"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			resumedAt := time.Time{}
			if tc.resumed {
				resumedAt = time.Unix(10, 0)
			}
			e := NewHookEvents(clocktesting.NewFakePassiveClock(time.Unix(20, 0)), EventLimits{QPS: 1, Burst: 5}, resumedAt)
			for i, a := range tc.answers {
				c := e.Choose(controller.Key{Name: "a"}, parenttest.ParentOf("1", tc.created), asked(e, a.words), 0, a.wrote)
				if got := strings.TrimSpace(c.describe()); got != a.want {
					t.Errorf("%s\nanswer %d, %q: %q, want %q", tc.reason, i+1, a.words, got, a.want)
				}
			}
		})
	}
}

// TestEventFlood checks the limits over time, about one parent and about many.
func TestEventFlood(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	e := NewHookEvents(clock, EventLimits{QPS: 1. / 300, Burst: 25}, time.Time{})
	emitted, dropped := 0, 0
	hour := func(parents int) {
		emitted, dropped = 0, 0
		for second := range 360 {
			clock.SetTime(clock.Now().Add(10 * time.Second))
			for i := range parents {
				words := fmt.Sprintf("%d %d-and %d-more", second, second, second)
				c := e.Choose(controller.Key{Name: fmt.Sprint(i)}, parenttest.ParentOf(fmt.Sprint(i), 0), asked(e, words), 5, true)
				if emitted += len(c.Emit); c.TellDropped {
					dropped++
				}
			}
		}
	}
	if hour(1); emitted < 15+5 || emitted > 15+6 || dropped != 1 {
		t.Errorf("about one parent %d events are emitted in an hour, and %d tell of dropped ones; want 15 and one in 10 minutes", emitted, dropped)
	}
	if hour(100); emitted+dropped > 500+5*3600 || emitted < 500 || dropped != 99 {
		t.Errorf("about 100 parents %d events are emitted in an hour, and %d tell of dropped ones", emitted, dropped)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	emitted = 0
	for i := range 1000 {
		emitted += len(e.Choose(controller.Key{Name: fmt.Sprint("new", i)}, parenttest.ParentOf("new", 0), asked(e, "a"), 0, true).Emit)
	}
	if emitted != definitionEvents.Burst {
		t.Errorf("about 1000 parents %d events are emitted at once, want %d", emitted, definitionEvents.Burst)
	}
}

// TestHookEventsForget checks that nothing is kept of parents that are gone, or never had events.
func TestHookEventsForget(t *testing.T) {
	e := NewHookEvents(clocktesting.NewFakePassiveClock(time.Unix(20, 0)), EventLimits{}, time.Unix(10, 0))
	key := controller.Key{Name: "a"}
	e.Choose(controller.Key{Name: "quiet"}, parenttest.ParentOf("2", 11), nil, 0, true)
	e.Choose(key, parenttest.ParentOf("1", 0), asked(e, "a"), 0, true)
	if got := e.Choose(key, parenttest.ParentOf("other", 11), asked(e, "a"), 0, false).describe(); got != "a" {
		t.Errorf("the first event about another parent of that name: %q", got)
	}
	e.Forget(key)
	if len(e.byParent) > 0 || len(e.resumed) > 1 {
		t.Errorf("kept: %v %v, want only that there was an answer about one from before", e.byParent, e.resumed)
	}
}

// TestManyHookEvents has the 10 000 inputs of a map ask for 20 events each, in two passes: the time must not grow with the square of
// their number. The processor time is compared with that for a sixteenth of them.
func TestManyHookEvents(t *testing.T) {
	const many = 200_000
	few, all := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 3 { // The collector of garbage may have its turn in any of them.
		few, all = min(few, timeOfHookEvents(t, many/16)), min(all, timeOfHookEvents(t, many))
	}
	if all > 5*16*few {
		t.Errorf("%d events take %s, and %d %s", many, all, many/16, few)
	}
}

// timeOfHookEvents has a hook ask for so many events, twice.
func timeOfHookEvents(t *testing.T, many int) time.Duration {
	t.Helper()
	e := NewHookEvents(clocktesting.NewFakePassiveClock(time.Unix(20, 0)), EventLimits{}, time.Time{})
	events := make([]RequestedEvent, many)
	for i := range events {
		events[i].Key = uint64(i)
	}
	begin := processorTime(t)
	for pass, want := range []choice{{Dropped: many - 15}, {Repeated: many}} {
		c := e.Choose(controller.Key{Name: "a"}, parenttest.ParentOf("1", 0), events, 0, true)
		if c.Repeated != want.Repeated || c.Dropped != want.Dropped {
			t.Errorf("pass %d: %d repeated and %d dropped, want %d and %d", pass, c.Repeated, c.Dropped, want.Repeated, want.Dropped)
		}
	}
	return processorTime(t) - begin
}

// processorTime is what this process has had.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
