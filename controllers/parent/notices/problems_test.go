package notices

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// problemHistory plays what syncs of one parent come to.
type problemHistory struct {
	clock    *clocktesting.FakePassiveClock
	problems *Problems
}

func newProblemHistory() *problemHistory {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	return &problemHistory{clock, NewProblems(clock, EventLimits{})}
}

// step plays one sync, and returns the outcome of its event: a number is minutes that pass, "ok" a sync that succeeds, "expire" a minute's
// housekeeping, "gone" a parent that is deleted, "new" another parent of that name that fails, "?word" a warning, and every other word a
// failure of that message.
func (h *problemHistory) step(word string) string {
	key := controller.Key{Name: "a"}
	var minutes int
	if _, err := fmt.Sscanf(word, "%dm", &minutes); err == nil {
		h.clock.SetTime(h.clock.Now().Add(time.Duration(minutes) * time.Minute))
		return ""
	}
	switch message, warning := strings.CutPrefix(word, "?"); word {
	case "ok":
		return h.problems.NoteSynced(key, "1")
	case "expire":
		h.problems.Expire()
	case "gone":
		h.problems.Forget(key)
	case "new":
		return h.problems.Note(key, "2", Problem{Reason: variant.ReasonSyncError, Message: "a", Failure: true})
	default:
		return h.problems.Note(key, "1", Problem{Reason: variant.ReasonSyncError, Message: message, Failure: !warning})
	}
	return ""
}

// letters returns so many different words.
func letters(count int) string {
	var words strings.Builder
	for i := range count {
		words.WriteString("w" + strings.Repeat("x", i) + " ")
	}
	return words.String()
}

// TestProblems checks which problems of one parent have an event.
func TestProblems(t *testing.T) {
	cases := map[string]struct{ reason, steps, want string }{
		"Retries":      {"Retries of one failure have one event.", "a a a", "a"},
		"Ways":         {"Each way to fail has its own.", "a b c", "a b c"},
		"Numbers":      {"A number makes no failure new.", "a,1 a,2", "a,1"},
		"InTurn":       {"A parent that fails in two ways in turn has one event for each.", "a b a b a b", "a b"},
		"Recovery":     {"The end is reported once.", "a ok ok", "a ok"},
		"NoFailure":    {"A parent that has not failed does not recover.", "ok", ""},
		"Again":        {"After a recovery a failure is new.", "a ok a", "a ok a"},
		"Reminder":     {"What lasts is reported again after ten minutes, and then after ten more.", "a 9m a 1m a a 9m a 1m a", "a a a"},
		"Warning":      {"A warning is no failure, so that a sync that succeeds does not end it.", "?a ok ?a", "?a"},
		"WarningAgain": {"One that lasts is reported again too.", "?a 10m ?a", "?a ?a"},
		"WarningOver":  {"A warning of long ago is forgotten.", "?a 10m expire", "?a"},
		"BothOver":     {"A failure and a warning are each by themselves.", "?a b ok b", "?a b ok b"},
		"Deleted":      {"Nothing is kept of a parent that is gone.", "a gone ok", "a"},
		"OtherParent":  {"Another parent of that name fails anew.", "a new", "a new"},
		"Flapping": {
			"A parent that comes and goes has 12 failures and their ends at once, and a failure each ten minutes; the last event is its end.",
			strings.Repeat("a ok ", 100) + "10m a a ok 9m a ok 1m a ok", strings.Repeat("a ok ", 14)[:14*5-1],
		},
		"Random": {"Another text each time is limited in the same way, and warnings have room.", letters(100) + "?a", letters(12) + "?a"},
		"RandomWarn": {
			"So are warnings.", strings.ReplaceAll(letters(100), "w", "?w") + "a ok", strings.ReplaceAll(letters(12), "w", "?w") + "a ok",
		},
		"FormerFailure": {"The failure of an earlier parent is not recovered from.", "new ok", "new"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newProblemHistory()
			var emitted []string
			for word := range strings.FieldsSeq(tc.steps) {
				if h.step(word) == EventsEmitted {
					emitted = append(emitted, word)
				}
			}
			if got := strings.Join(emitted, " "); got != tc.want {
				t.Errorf("%s\n%s: there are events for %q, want %q", tc.reason, tc.steps, got, tc.want)
			}
			h.clock.SetTime(h.clock.Now().Add(time.Hour))
			h.problems.Expire()
			if h.step("ok"); len(h.problems.byParent) > 0 && name != "OtherParent" {
				t.Errorf("kept of a parent without problems: %v", h.problems.byParent)
			}
		})
	}
}

// TestManyProblems checks what is kept of a parent that always fails in another way.
func TestManyProblems(t *testing.T) {
	h := newProblemHistory()
	for i := range 1000 {
		h.step("failure" + strings.Repeat("-x", i))
	}
	if kept := len(h.problems.byParent[controller.Key{Name: "a"}].all); kept != maxProblems {
		t.Errorf("%d problems are kept, want %d", kept, maxProblems)
	}
}

// TestProblemBudgets has many parents fail at once: their events are bounded, those that are dropped are counted once and come later, and
// neither warnings nor recoveries nor children suffer.
func TestProblemBudgets(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	p := NewProblems(clock, EventLimits{})
	const parents = 1000
	failAll := func() map[string]int {
		outcomes := map[string]int{}
		for i := range parents {
			key := controller.Key{Name: fmt.Sprint(i)}
			outcomes[p.Note(key, types.UID(key.Name), Problem{Reason: variant.ReasonSyncError, Message: "a", Failure: true})]++
		}
		return outcomes
	}
	first, second := failAll(), failAll()
	if first[EventsEmitted] != failureEvents.Burst || first[EventsDropped] != parents-failureEvents.Burst {
		t.Errorf("of %d failures %v", parents, first)
	}
	if second[EventsRepeated] != parents {
		t.Errorf("their retries: %v, want nothing emitted or counted again", second)
	}
	if got := p.Note(controller.Key{Name: "0"}, "0", Problem{Reason: variant.ReasonRevisionInvalid}); got != EventsEmitted {
		t.Errorf("a warning meanwhile is %s", got)
	}
	if got := p.NoteSynced(controller.Key{Name: "0"}, "0"); got != EventsEmitted {
		t.Errorf("a recovery meanwhile is %s", got)
	}
	if got := p.NoteSynced(controller.Key{Name: "999"}, "999"); got != "" {
		t.Errorf("the end of a failure without an event is %s", got)
	}
	if got := p.Accept(p.Rare); got != EventsEmitted {
		t.Errorf("a hot loop meanwhile is %s", got)
	}
	if got := p.Accept(p.OfScripts); got != EventsEmitted {
		t.Errorf("a dropped field meanwhile is %s", got)
	}
	if got := p.Accept(p.Children); got != EventsEmitted {
		t.Errorf("children meanwhile are %s", got)
	}
	clock.SetTime(clock.Now().Add(10 * time.Second))
	if third := failAll(); third[EventsEmitted] != 50 {
		t.Errorf("ten seconds later: %v, want 50 more", third)
	}
	for range 100 { // The retries that are dropped take nothing of a parent's own limit.
		failAll()
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	if fourth := failAll(); fourth[EventsEmitted] != failureEvents.Burst {
		t.Errorf("a minute later: %v, want %d more", fourth, failureEvents.Burst)
	}
}

// TestManyRecoveries has many parents recover at once: each has an event, if not at once, and nothing is kept of them then.
func TestManyRecoveries(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	p := NewProblems(clock, EventLimits{})
	const parents = 300
	outcomes := map[string]int{}
	for i := range parents {
		key := controller.Key{Name: fmt.Sprint(i)}
		p.Note(key, types.UID(key.Name), Problem{Reason: variant.ReasonSyncError, Message: "a", Failure: true})
		clock.SetTime(clock.Now().Add(time.Second))
	}
	for i := range parents {
		key := controller.Key{Name: fmt.Sprint(i)}
		outcomes[p.NoteSynced(key, types.UID(key.Name))]++
	}
	if outcomes[EventsEmitted] != recoveryEvents.Burst || outcomes[EventsDropped] != parents-recoveryEvents.Burst {
		t.Errorf("of %d recoveries %v", parents, outcomes)
	}
	p.Note(controller.Key{Name: "299"}, "299", Problem{Reason: variant.ReasonSyncError, Message: "b", Failure: true})
	for range 10 {
		clock.SetTime(clock.Now().Add(time.Minute))
		for _, key := range p.Recovered() {
			outcomes[p.NoteRecovered(key, types.UID(key.Name))]++
		}
	}
	if got := outcomes[EventsEmitted]; got != parents-1 {
		t.Errorf("%d parents have the event about their end, want all but the one that fails again", got)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	if p.Expire(); len(p.byParent) != 1 {
		t.Errorf("%d parents are kept, want the one that fails", len(p.byParent))
	}
}
