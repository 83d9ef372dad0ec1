package parent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/test/cluster"
)

// problemHistory plays what syncs of one parent come to.
type problemHistory struct {
	clock    *clocktesting.FakePassiveClock
	problems *problems
}

func newProblemHistory() *problemHistory {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	return &problemHistory{clock, newProblems(clock, EventLimits{})}
}

// step plays one sync, and returns what becomes of its event: a number is minutes that pass, "ok" a sync that succeeds, "expire" a minute's
// housekeeping, "gone" a parent that is deleted, "new" another parent of that name that fails, "?word" a warning, and every other word a
// failure of that message.
func (h *problemHistory) step(word string) string {
	key := controller.Key{Name: "a"}
	var minutes int
	if _, err := fmt.Sscanf(word, "%dm", &minutes); err == nil {
		h.clock.SetTime(h.clock.Now().Add(time.Duration(minutes) * time.Minute))
		return ""
	}
	switch message, warning := strings.CutPrefix(word, "?"); {
	case word == "ok":
		return h.problems.noteSynced(key, "1")
	case word == "expire":
		h.problems.expire()
	case word == "gone":
		h.problems.forget(key)
	case word == "new":
		return h.problems.note(key, "2", problem{reason: variant.ReasonSyncError, message: "a", failure: true})
	default:
		return h.problems.note(key, "1", problem{reason: variant.ReasonSyncError, message: message, failure: !warning})
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
				if h.step(word) == eventsEmitted {
					emitted = append(emitted, word)
				}
			}
			if got := strings.Join(emitted, " "); got != tc.want {
				t.Errorf("%s\n%s: there are events for %q, want %q", tc.reason, tc.steps, got, tc.want)
			}
			h.clock.SetTime(h.clock.Now().Add(time.Hour))
			h.problems.expire()
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
	p := newProblems(clock, EventLimits{})
	const parents = 1000
	failAll := func() map[string]int {
		outcomes := map[string]int{}
		for i := range parents {
			key := controller.Key{Name: fmt.Sprint(i)}
			outcomes[p.note(key, types.UID(key.Name), problem{reason: variant.ReasonSyncError, message: "a", failure: true})]++
		}
		return outcomes
	}
	first, second := failAll(), failAll()
	if first[eventsEmitted] != failureEvents.Burst || first[eventsDropped] != parents-failureEvents.Burst {
		t.Errorf("of %d failures %v", parents, first)
	}
	if second[eventsRepeated] != parents {
		t.Errorf("their retries: %v, want nothing emitted or counted again", second)
	}
	if got := p.note(controller.Key{Name: "0"}, "0", problem{reason: variant.ReasonRevisionInvalid}); got != eventsEmitted {
		t.Errorf("a warning meanwhile is %s", got)
	}
	if got := p.noteSynced(controller.Key{Name: "0"}, "0"); got != eventsEmitted {
		t.Errorf("a recovery meanwhile is %s", got)
	}
	if got := p.noteSynced(controller.Key{Name: "999"}, "999"); got != "" {
		t.Errorf("the end of a failure without an event is %s", got)
	}
	if got := p.accept(p.rare); got != eventsEmitted {
		t.Errorf("a hot loop meanwhile is %s", got)
	}
	if got := p.accept(p.ofScripts); got != eventsEmitted {
		t.Errorf("a dropped field meanwhile is %s", got)
	}
	if got := p.accept(p.children); got != eventsEmitted {
		t.Errorf("children meanwhile are %s", got)
	}
	clock.SetTime(clock.Now().Add(10 * time.Second))
	if third := failAll(); third[eventsEmitted] != 50 {
		t.Errorf("ten seconds later: %v, want 50 more", third)
	}
	for range 100 { // The retries that are dropped take nothing of a parent's own limit.
		failAll()
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	if fourth := failAll(); fourth[eventsEmitted] != failureEvents.Burst {
		t.Errorf("a minute later: %v, want %d more", fourth, failureEvents.Burst)
	}
}

// TestManyRecoveries has many parents recover at once: each has an event, if not at once, and nothing is kept of them then.
func TestManyRecoveries(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	p := newProblems(clock, EventLimits{})
	const parents = 300
	outcomes := map[string]int{}
	for i := range parents {
		key := controller.Key{Name: fmt.Sprint(i)}
		p.note(key, types.UID(key.Name), problem{reason: variant.ReasonSyncError, message: "a", failure: true})
		clock.SetTime(clock.Now().Add(time.Second))
	}
	for i := range parents {
		key := controller.Key{Name: fmt.Sprint(i)}
		outcomes[p.noteSynced(key, types.UID(key.Name))]++
	}
	if outcomes[eventsEmitted] != recoveryEvents.Burst || outcomes[eventsDropped] != parents-recoveryEvents.Burst {
		t.Errorf("of %d recoveries %v", parents, outcomes)
	}
	p.note(controller.Key{Name: "299"}, "299", problem{reason: variant.ReasonSyncError, message: "b", failure: true})
	for range 10 {
		clock.SetTime(clock.Now().Add(time.Minute))
		for _, key := range p.recovered() {
			outcomes[p.noteRecovered(key, types.UID(key.Name))]++
		}
	}
	if got := outcomes[eventsEmitted]; got != parents-1 {
		t.Errorf("%d parents have the event about their end, want all but the one that fails again", got)
	}
	clock.SetTime(clock.Now().Add(time.Hour))
	if p.expire(); len(p.byParent) != 1 {
		t.Errorf("%d parents are kept, want the one that fails", len(p.byParent))
	}
}

// TestDroppedEventsAreLogged checks that the log has how many events were dropped, once a minute.
func TestDroppedEventsAreLogged(t *testing.T) {
	var lines []string
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &Reconciler{&shared{
		config: Config{Definition: "CompositeController a"}, problems: newProblems(clock, EventLimits{}), detector: loops.NewDetector(clock),
		previewCaches: newPreviewCaches(nil, clock), env: Environment{Log: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})},
	}}
	r.Expire()
	flood := func() {
		for range childEvents.Burst + 7 {
			r.problems.accept(r.problems.children)
		}
		r.Expire()
	}
	flood()
	flood()
	if len(lines) != 1 || !strings.Contains(lines[0], `"dropped"=7`) || !strings.Contains(lines[0], "CompositeController a") {
		t.Fatalf("lines: %q, want one with 7", lines)
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	if r.Expire(); len(lines) != 2 || !strings.Contains(lines[1], fmt.Sprintf(`"dropped"=%d`, childEvents.Burst+7)) {
		t.Errorf("lines: %q, want another one a minute later", lines)
	}
}

// TestReportQueues checks which recorder has what: failures must not crowd out warnings.
func TestReportQueues(t *testing.T) {
	rare, syncs := record.NewFakeRecorder(10), record.NewFakeRecorder(10)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &Reconciler{&shared{
		problems: newProblems(clock, EventLimits{}), states: newSyncStates(clock), env: Environment{Events: rare, SyncEvents: syncs},
	}}
	parent := parenttest.ParentOf("1", 0)
	r.warn(controller.Key{}, parent, problem{reason: variant.ReasonRevisionInvalid, message: "edited"})
	r.report(controller.Key{}, parent, fmt.Errorf("not yet: %w", controller.ErrLater))
	r.report(controller.Key{}, parent, fmt.Errorf("broken"))
	thrown := func(line int) error {
		return &engines.Error{Message: "no zone", Location: engines.Location{File: "a.js", Line: line, Column: 1}}
	}
	r.report(controller.Key{}, parent, thrown(1))
	r.report(controller.Key{}, parent, thrown(1))
	r.report(controller.Key{}, parent, thrown(2)) // The numbers in a message make no failure new, but its line does.
	r.report(controller.Key{}, parent, nil)
	(&pass{shared: r.shared, parent: parent}).warnOnce(variant.ReasonHotLoop, "again and again")
	close(rare.Events)
	close(syncs.Events)
	for _, want := range []string{"Warning RevisionInvalid edited", "Warning HotLoop again and again", ""} {
		if got := <-rare.Events; got != want {
			t.Errorf("the recorder of rare events has %q, want %q", got, want)
		}
	}
	first, second := "Warning SyncError Sync error: "+thrown(1).Error(), "Warning SyncError Sync error: "+thrown(2).Error()
	for _, want := range []string{"Warning SyncError Sync error: broken", first, second, "Normal Synced the sync succeeds again", ""} {
		if got := <-syncs.Events; got != want {
			t.Errorf("the recorder of syncs has %q, want %q", got, want)
		}
	}
}

// TestLastingPostponement checks that a parent all of whose syncs end with ErrLater has an event after a minute, one after a failure too.
func TestLastingPostponement(t *testing.T) {
	clock, recorder := clocktesting.NewFakePassiveClock(time.Unix(0, 0)), record.NewFakeRecorder(10)
	r := &Reconciler{&shared{
		config: Config{Changed: func() {}}, env: Environment{SyncEvents: recorder},
		problems: newProblems(clock, EventLimits{}), states: newSyncStates(clock), waits: newWaits(),
	}}
	later, parent := fmt.Errorf("ConfigMap a/b: %w: it belongs to an earlier parent", controller.ErrLater), parenttest.ParentOf("1", 0)
	const event = "Warning SyncError Sync error: ConfigMap a/b: to be tried again: it belongs to an earlier parent"
	for i, step := range []struct {
		seconds int
		err     error
		event   string
	}{
		{0, later, ""}, {59, later, ""}, {1, later, event}, {5, later, ""}, {5, nil, "Normal Synced the sync succeeds again"},
		{100, later, ""}, {5, errors.New("broken"), "Warning SyncError Sync error: broken"}, {100, later, ""}, {60, later, event}, {0, later, ""},
	} {
		clock.SetTime(clock.Now().Add(time.Duration(step.seconds) * time.Second))
		r.noteEnd(controller.Key{Name: "p"}, parent, outcome{}, controller.Result{}, step.err)
		event := ""
		if len(recorder.Events) > 0 {
			event = <-recorder.Events
		}
		if event != step.event {
			t.Errorf("step %d: event %q, want %q", i, event, step.event)
		}
	}
}

// TestNoteEnd checks that a pass that ends early, to be made again, is not taken for one that has succeeded.
func TestNoteEnd(t *testing.T) {
	recorder, clock := record.NewFakeRecorder(10), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &Reconciler{&shared{
		config: Config{Changed: func() {}}, env: Environment{SyncEvents: recorder},
		problems: newProblems(clock, EventLimits{}), states: newSyncStates(clock), waits: newWaits(),
	}}
	key, parent := controller.Key{Name: "p"}, parenttest.ParentOf("1", 0)
	for _, step := range []struct {
		result  controller.Result
		err     error
		failing int32
		event   string
	}{
		{err: errors.New("broken"), failing: 1, event: "Warning SyncError Sync error: broken"},
		{result: controller.Result{Unfinished: true}, failing: 1},
		{result: controller.Result{Unfinished: true}, err: errors.New("other"), failing: 1, event: "Warning SyncError Sync error: other"},
		{event: "Normal Synced the sync succeeds again"},
	} {
		r.noteEnd(key, parent, outcome{}, step.result, step.err)
		event := ""
		select {
		case event = <-recorder.Events:
		default:
		}
		if failing := r.states.summary(1).Failing; failing != step.failing || event != step.event {
			t.Errorf("after %+v, %v: %d parents fail, event %q; want %d, %q", step.result, step.err, failing, event, step.failing, step.event)
		}
	}
}

// TestReportRecovered checks that the end of a failure is reported later if there was no room for it, and not if the parent is gone.
func TestReportRecovered(t *testing.T) {
	parent := parenttest.Gadget("here", nil)
	parent.SetName("p")
	parent.SetUID("1")
	kinds := map[schema.GroupVersionResource]string{parenttest.Gadgets.GroupVersionResource: "GadgetList"}
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, parent)
	cache := informer.NewPool(t.Context(), parenttest.WithoutWatchList{Interface: client}, logr.Discard()).Open(parenttest.Gadgets.GroupVersionResource)
	t.Cleanup(cache.Close)
	cluster.Eventually(t, 20*time.Second, func() error {
		if !cache.HasSynced() {
			return errors.New("the cache is not synced")
		}
		return nil
	})
	clock, recorder := clocktesting.NewFakePassiveClock(time.Unix(0, 0)), record.NewFakeRecorder(10)
	all := func(*unstructured.Unstructured) bool { return true }
	r := &Reconciler{&shared{
		parents:  []parentSource{{ParentRule: variant.ParentRule{Resource: parenttest.Gadgets, Selects: all}, cache: cache}},
		problems: newProblems(clock, EventLimits{}), detector: loops.NewDetector(clock), env: Environment{SyncEvents: recorder},
		pendingWrites: writes.NewPending(clocktesting.NewFakeClock(clock.Now())), previewCaches: newPreviewCaches(nil, clock),
	}}
	gone := parent.DeepCopy()
	gone.SetName("gone")
	for _, object := range []*unstructured.Unstructured{parent, gone} {
		r.report(keyOf(parenttest.Gadgets.Kind, object), object, errors.New("broken"))
		<-recorder.Events
	}
	for r.problems.accept(r.problems.recoveries) == eventsEmitted {
	}
	for _, object := range []*unstructured.Unstructured{parent, gone} {
		r.report(keyOf(parenttest.Gadgets.Kind, object), object, nil)
	}
	if r.Expire(); len(recorder.Events) > 0 {
		t.Fatalf("an event beyond the limit: %s", <-recorder.Events)
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	r.Expire()
	r.Expire()
	close(recorder.Events)
	if first, second := <-recorder.Events, <-recorder.Events; first != "Normal Synced the sync succeeds again" || second != "" {
		t.Errorf("events %q and %q, want one about the end", first, second)
	}
}
