package parent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// asked returns events with the words of a text as messages.
func asked(e *hookEvents, words string) (events []askedEvent) {
	for word := range strings.FieldsSeq(words) {
		events = append(events, e.ask(variant.Event{Type: "Normal", Reason: "Said", Message: word}))
	}
	return events
}

// describe returns the messages of the events that are emitted, with signs for the others.
func (c choice) describe() string {
	var words []string
	for _, event := range c.emit {
		words = append(words, event.Message)
	}
	words = append(words, strings.Repeat("=", c.repeated), strings.Repeat("-", c.dropped))
	text := strings.Join(strings.Fields(strings.Join(words, " ")), " ")
	if c.firstDropped {
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
			reason:  "Beyond the limit events are dropped, which is told once. 3 are emitted at once.",
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
			e := newHookEvents(clocktesting.NewFakePassiveClock(time.Unix(20, 0)), EventLimits{QPS: 1, Burst: 5}, resumedAt)
			for i, a := range tc.answers {
				c := e.choose(controller.Key{Name: "a"}, parenttest.ParentOf("1", tc.created), asked(e, a.words), 0, a.wrote)
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
	e := newHookEvents(clock, EventLimits{QPS: 1. / 300, Burst: 25}, time.Time{})
	emitted, told := 0, 0
	hour := func(parents int) {
		emitted, told = 0, 0
		for second := range 360 {
			clock.SetTime(clock.Now().Add(10 * time.Second))
			for i := range parents {
				words := fmt.Sprintf("%d %d-and %d-more", second, second, second)
				c := e.choose(controller.Key{Name: fmt.Sprint(i)}, parenttest.ParentOf(fmt.Sprint(i), 0), asked(e, words), 5, true)
				if emitted += len(c.emit); c.tellDropped {
					told++
				}
			}
		}
	}
	if hour(1); emitted < 15+5 || emitted > 15+6 || told != 1 {
		t.Errorf("about one parent %d events are emitted in an hour, and %d tell of dropped ones; want 15 and one in 10 minutes", emitted, told)
	}
	if hour(100); emitted+told > 500+5*3600 || emitted < 500 || told != 99 {
		t.Errorf("about 100 parents %d events are emitted in an hour, and %d tell of dropped ones", emitted, told)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	emitted = 0
	for i := range 1000 {
		emitted += len(e.choose(controller.Key{Name: fmt.Sprint("new", i)}, parenttest.ParentOf("new", 0), asked(e, "a"), 0, true).emit)
	}
	if emitted != definitionEvents.Burst {
		t.Errorf("about 1000 parents %d events are emitted at once, want %d", emitted, definitionEvents.Burst)
	}
}

// TestHookEventsForget checks that nothing is kept of parents that are gone, or never had events.
func TestHookEventsForget(t *testing.T) {
	e := newHookEvents(clocktesting.NewFakePassiveClock(time.Unix(20, 0)), EventLimits{}, time.Unix(10, 0))
	key := controller.Key{Name: "a"}
	e.choose(controller.Key{Name: "quiet"}, parenttest.ParentOf("2", 11), nil, 0, true)
	e.choose(key, parenttest.ParentOf("1", 0), asked(e, "a"), 0, true)
	if got := e.choose(key, parenttest.ParentOf("other", 11), asked(e, "a"), 0, false).describe(); got != "a" {
		t.Errorf("the first event about another parent of that name: %q", got)
	}
	e.forget(key)
	if len(e.byParent) > 0 || len(e.resumed) > 1 {
		t.Errorf("kept: %v %v, want only that there was an answer about one from before", e.byParent, e.resumed)
	}
}

// TestManyHookEvents has the 10 000 inputs of a map ask for 20 events each, in two passes: the time must not grow with the square of
// their number.
func TestManyHookEvents(t *testing.T) {
	e := newHookEvents(clocktesting.NewFakePassiveClock(time.Unix(20, 0)), EventLimits{}, time.Time{})
	const many = 200_000
	events := make([]askedEvent, many)
	for i := range events {
		events[i].key = uint64(i)
	}
	begin := time.Now()
	for pass, want := range []choice{{dropped: many - 15}, {repeated: many}} {
		c := e.choose(controller.Key{Name: "a"}, parenttest.ParentOf("1", 0), events, 0, true)
		if c.repeated != want.repeated || c.dropped != want.dropped {
			t.Errorf("pass %d: %d repeated and %d dropped, want %d and %d", pass, c.repeated, c.dropped, want.repeated, want.dropped)
		}
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// TestHookEventsHaveTheirOwnQueue checks which recorder an event goes to: what hooks ask for must not fill the queue of what the host tells.
func TestHookEventsHaveTheirOwnQueue(t *testing.T) {
	ofHost, ofHooks := record.NewFakeRecorder(10), record.NewFakeRecorder(10)
	p := &pass{parent: parenttest.ParentOf("1", 0), shared: &shared{
		hookEvents: newHookEvents(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), EventLimits{QPS: 1, Burst: 2}, time.Time{}),
		env:        Environment{SyncEvents: ofHost, HookEvents: ofHooks},
	}}
	p.emitEvents(variant.Desired{
		Waiting: &variant.Wait{Reason: "Late", Message: "not yet"}, Events: []variant.Event{{Type: "Normal", Reason: "Said", Message: "a"}},
	}, true)
	close(ofHost.Events)
	close(ofHooks.Events)
	if event := <-ofHooks.Events; event != "Normal Waiting Late: not yet: until then the children stay as they are" {
		t.Errorf("the recorder of hooks has %q", event)
	}
	if event := <-ofHost.Events; !strings.HasPrefix(event, "Warning EventsDropped") {
		t.Errorf("the recorder of the host has %q, want what is dropped", event)
	}
}

// TestWaitEvents checks that the events about waits are by reason.
func TestWaitEvents(t *testing.T) {
	p := &pass{shared: &shared{hookEvents: newHookEvents(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), EventLimits{}, time.Time{})}}
	describe := func(waits ...variant.Wait) (messages []string, keys []uint64) {
		for _, event := range p.waitEvents(waits) {
			messages, keys = append(messages, event.Message), append(keys, event.key)
		}
		return messages, keys
	}
	messages, first := describe(variant.Wait{Reason: "Late", Message: "3 are not there"})
	if diff := cmp.Diff([]string{"Late: 3 are not there: until then the children stay as they are"}, messages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	_, again := describe(variant.Wait{Reason: "Late", Message: "2 are not there"})
	if !cmp.Equal(first, again) {
		t.Error("another message is another event")
	}
	messages, _ = describe(
		variant.Wait{Reason: "Late", Message: "a", Input: "/Secret/x/a"}, variant.Wait{Reason: "Early", Message: "b", Input: "/Secret/x/b"},
		variant.Wait{Reason: "Late", Message: "c", Input: "/Secret/x/c"},
	)
	want := []string{
		"input /Secret/x/a: Late: a (and 1 more inputs): until then the outputs stay as they are",
		"input /Secret/x/b: Early: b: until then the outputs stay as they are",
	}
	if diff := cmp.Diff(want, messages); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
