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
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/test/cluster"
)

// TestDroppedEventsAreLogged checks that the log has how many events were dropped, once a minute.
func TestDroppedEventsAreLogged(t *testing.T) {
	var lines []string
	clock := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	r := &Reconciler{&shared{
		config:    Config{Definition: "CompositeController a"},
		env:       Environment{Log: funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})},
		inherited: inherited{problems: notices.NewProblems(clock, notices.EventLimits{})},
		memories:  memories{detector: loops.NewDetector(clock), previewCaches: samples.NewCaches(nil, clock)},
	}}
	r.Expire()
	flood := func() {
		for range notices.ChildEvents.Burst + 7 {
			r.problems.Accept(r.problems.Children)
		}
		r.Expire()
	}
	flood()
	flood()
	if len(lines) != 1 || !strings.Contains(lines[0], `"dropped"=7`) || !strings.Contains(lines[0], "CompositeController a") {
		t.Fatalf("lines: %q, want one with 7", lines)
	}
	clock.SetTime(clock.Now().Add(time.Minute))
	if r.Expire(); len(lines) != 2 || !strings.Contains(lines[1], fmt.Sprintf(`"dropped"=%d`, notices.ChildEvents.Burst+7)) {
		t.Errorf("lines: %q, want another one a minute later", lines)
	}
}

// TestReportQueues checks which recorder has what: failures must not crowd out warnings.
func TestReportQueues(t *testing.T) {
	rare, syncs := record.NewFakeRecorder(10), record.NewFakeRecorder(10)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &Reconciler{&shared{
		env:       Environment{Events: Recorders{Rare: rare, Syncs: syncs}},
		inherited: inherited{problems: notices.NewProblems(clock, notices.EventLimits{}), states: health.NewStates(clock)},
	}}
	parent := parenttest.ParentOf("1", 0)
	r.warn(controller.Key{}, parent, notices.Problem{Reason: variant.ReasonRevisionInvalid, Message: "edited"})
	r.report(controller.Key{}, parent, fmt.Errorf("not yet: %w", controller.ErrLater))
	r.report(controller.Key{}, parent, errors.New("broken"))
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
		config:    Config{Changed: func() {}},
		env:       Environment{Events: Recorders{Syncs: recorder}},
		inherited: inherited{problems: notices.NewProblems(clock, notices.EventLimits{}), states: health.NewStates(clock), waits: health.NewWaits()},
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
		r.noteEnd(controller.Key{Name: "p"}, parent, health.End{}, controller.Result{}, step.err)
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
		config:    Config{Changed: func() {}},
		env:       Environment{Events: Recorders{Syncs: recorder}},
		inherited: inherited{problems: notices.NewProblems(clock, notices.EventLimits{}), states: health.NewStates(clock), waits: health.NewWaits()},
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
		r.noteEnd(key, parent, health.End{}, step.result, step.err)
		event := ""
		select {
		case event = <-recorder.Events:
		default:
		}
		if failing := r.states.Summary(1).Failing; failing != step.failing || event != step.event {
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
		sources:   sources.Sources{Parents: []sources.Parent{{ParentRule: variant.ParentRule{Resource: parenttest.Gadgets, Selects: all}, Cache: cache}}},
		env:       Environment{Events: Recorders{Syncs: recorder}},
		inherited: inherited{problems: notices.NewProblems(clock, notices.EventLimits{})},
		memories:  memories{detector: loops.NewDetector(clock), pendingWrites: writes.NewPending(clocktesting.NewFakeClock(clock.Now())), previewCaches: samples.NewCaches(nil, clock)},
	}}
	gone := parent.DeepCopy()
	gone.SetName("gone")
	for _, object := range []*unstructured.Unstructured{parent, gone} {
		r.report(keyOf(parenttest.Gadgets.Kind, object), object, errors.New("broken"))
		<-recorder.Events
	}
	for r.problems.Accept(r.problems.Recoveries) == notices.EventsEmitted {
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
