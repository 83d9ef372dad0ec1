package parent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/parent/statuses"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

var readsSpec = engines.ReadSet{"children", "parent.spec"}

// deferredStatusEnv makes passes over one parent.
type deferredStatusEnv struct {
	t      *testing.T
	server *parenttest.FakeStatusServer
	clock  *clocktesting.FakeClock
	last   *pass
}

func newLeftStatusEnv(t *testing.T) *deferredStatusEnv {
	e := &deferredStatusEnv{t: t, server: &parenttest.FakeStatusServer{}, clock: clocktesting.NewFakeClock(time.Unix(1000, 0))}
	e.last = newTestPass(parenttest.FullParent(), readsSpec)
	client := e.server.Client()
	e.last.env.Client, e.last.env.Clock, e.last.env.Events.Rare = client, e.clock, record.NewFakeRecorder(10)
	e.last.status = statuses.NewWriter(client, nil, e.clock)
	t.Cleanup(e.last.pendingWrites.Close)
	return e
}

// next returns the next pass over the parent, whose children are written.
func (e *deferredStatusEnv) next(read engines.ReadSet) *pass {
	p := newTestPass(e.last.parent, read)
	p.shared, p.writes.any, p.writes.children, p.writes.awaitsEvents = e.last.shared, true, true, true
	e.last = p
	return p
}

// conclude ends a pass, and returns when the next one is due.
func (e *deferredStatusEnv) conclude(p *pass, desired variant.Desired, applied bool) time.Duration {
	e.t.Helper()
	if err := p.writeParent(e.t.Context(), desired, applied); err != nil {
		e.t.Fatal(err)
	}
	result, err := p.conclude(desired, nil)
	if err != nil {
		e.t.Fatal(err)
	}
	return result.RequeueAfter
}

func (e *deferredStatusEnv) wantSent(want ...any) {
	e.t.Helper()
	if diff := cmp.Diff(want, e.server.Sent); diff != "" {
		e.t.Errorf("sent statuses (-want +got):\n%s", diff)
	}
}

func statusOfN(n int64) map[string]any { return map[string]any{"n": n} }

// TestStatusIsWrittenOnce has a pass write children, and the next one nothing.
func TestStatusIsWrittenOnce(t *testing.T) {
	e := newLeftStatusEnv(t)
	if after := e.conclude(e.next(readsSpec), variant.Desired{Status: statusOfN(2)}, true); after != time.Second {
		t.Errorf("the next pass is after %s, want at most a second", after)
	}
	e.wantSent()
	settled := e.next(readsSpec)
	settled.writes.any, settled.writes.children, settled.writes.awaitsEvents = false, false, false
	if after := e.conclude(settled, variant.Desired{Status: statusOfN(3)}, true); after != 0 {
		t.Errorf("a pass follows after %s, want none", after)
	}
	e.wantSent(statusOfN(3))
	if _, left := settled.deferredStatuses.Of(settled.key, "u"); left {
		t.Error("the status of the first pass is kept")
	}
}

// TestStatusOfALongRollout has each pass write children for ten seconds.
func TestStatusOfALongRollout(t *testing.T) {
	e := newLeftStatusEnv(t)
	var writes []time.Time
	begin := e.clock.Now()
	for n := int64(2); e.clock.Since(begin) < 10*time.Second; n++ {
		sent := len(e.server.Sent)
		after := e.conclude(e.next(readsSpec), variant.Desired{Status: statusOfN(n)}, true)
		if len(e.server.Sent) > sent {
			writes = append(writes, e.clock.Now())
		} else if after <= 0 || after > time.Second {
			t.Fatalf("the next pass is after %s, want within a second", after)
		}
		e.clock.Step(300 * time.Millisecond)
	}
	last := begin
	for _, at := range writes {
		if late := at.Sub(last); late > 1500*time.Millisecond { // A second, and the time to the next pass.
			t.Errorf("no status was written for %s", late)
		}
		last = at
	}
	if len(writes) < 6 || len(writes) > 10 {
		t.Errorf("the status was written %d times in 10 s, want about once a second", len(writes))
	}
}

// TestStatusAtOnce checks when a status is not left to the next pass.
func TestStatusAtOnce(t *testing.T) {
	wait := &variant.Wait{Reason: "NoImage"}
	cases := map[string]struct {
		reason  string
		read    engines.ReadSet
		desired variant.Desired
		applied bool
		edit    func(p *pass)
	}{
		"StatusRead":  {"The hook keeps its state there.", engines.ReadSet{"parent.status"}, variant.Desired{}, true, nil},
		"VersionRead": {"A write of the status is a new version.", engines.ReadSet{"parent.metadata"}, variant.Desired{}, true, nil},
		"Webhook":     {"What it reads is unknown.", nil, variant.Desired{}, true, nil},
		"Failed":      {"A child could not be written.", readsSpec, variant.Desired{}, false, nil},
		"Waiting":     {"The hook waits, and may for long.", readsSpec, variant.Desired{Waiting: wait}, true, nil},
		"InputWaits":  {"So may that of an input.", readsSpec, variant.Desired{WaitingInputs: []variant.Wait{*wait}}, true, nil},
		"Finalizing":  {"The parent may soon be gone.", readsSpec, variant.Desired{}, true, func(p *pass) { p.observed.Finalizing = true }},
		"NoEvents":    {"No events are to come.", readsSpec, variant.Desired{}, true, func(p *pass) { p.writes.awaitsEvents = false }},
		"Offline":     {"Each pass is looked at by itself.", readsSpec, variant.Desired{}, true, func(p *pass) { p.env.StatusDelay = 0 }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newLeftStatusEnv(t)
			p := e.next(tc.read)
			if tc.edit != nil {
				tc.edit(p)
			}
			tc.desired.Status = statusOfN(2)
			e.conclude(p, tc.desired, tc.applied)
			if len(e.server.Sent) != 1 {
				t.Errorf("the status was sent %d times: %s", len(e.server.Sent), tc.reason)
			}
		})
	}
	e := newLeftStatusEnv(t)
	p := e.next(readsSpec)
	if err := p.writeParent(t.Context(), variant.Desired{Status: statusOfN(2), Problems: []error{errors.New("boom")}}, true); err != nil {
		t.Fatal(err)
	}
	e.wantSent(statusOfN(2))
}

// TestStatusThatWasLeft has the next pass fail before it has an answer.
func TestStatusThatWasLeft(t *testing.T) {
	boom := errors.New("boom")
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	conflict := apierrors.NewConflict(parenttest.ThingResource(true, true).GroupResource(), "p", errors.New("newer"))
	cases := map[string]struct {
		reason string
		ctx    context.Context
		origin variant.StatusOrigin
		refuse error
		edit   func(parent *unstructured.Unstructured)
		want   []any
		kept   bool
	}{
		"Failed":   {"It is not lost.", t.Context(), variant.StatusReturned, nil, nil, []any{statusOfN(2)}, false},
		"Stopped":  {"The next process makes a pass over each parent.", canceled, variant.StatusReturned, nil, nil, nil, true},
		"Conflict": {"The retry of the pass writes it.", t.Context(), variant.StatusReturned, conflict, nil, nil, true},
		"Stored": {
			"It is there.", t.Context(), variant.StatusReturned, nil, func(o *unstructured.Unstructured) { o.Object["status"] = statusOfN(2) }, nil, false,
		},
		"Another": {
			"It is another parent of that name.", t.Context(), variant.StatusReturned, nil, func(o *unstructured.Unstructured) { o.SetUID("new") }, nil, false,
		},
		"Merged": {
			"Fields of others are kept.", t.Context(), variant.StatusMerged, nil,
			func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"n": int64(1), "other": "x"} },
			[]any{map[string]any{"n": int64(2), "other": "x"}}, false,
		},
		"MergedOverOthers": {
			"Another writer has set the same field.", t.Context(), variant.StatusMerged, nil,
			func(o *unstructured.Unstructured) { o.Object["status"] = statusOfN(7) }, nil, false,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newLeftStatusEnv(t)
			e.conclude(e.next(readsSpec), variant.Desired{Status: statusOfN(2), StatusOrigin: tc.origin}, true)
			e.wantSent()
			e.server.Refuse = tc.refuse
			p := e.next(nil)
			p.parent = p.parent.DeepCopy()
			if tc.edit != nil {
				tc.edit(p.parent)
			}
			if err := p.writeLeftStatus(tc.ctx, boom); !errors.Is(err, boom) || errors.Is(err, controller.ErrLater) {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(tc.want, e.server.Sent); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			if _, kept := p.deferredStatuses.Of(p.key, "u"); kept != tc.kept && name != "Another" {
				t.Errorf("the status is kept for later: %v", kept)
			}
		})
	}
}

// TestHookThatSawAnOldStatus has a hook read the status only after it has set it once.
func TestHookThatSawAnOldStatus(t *testing.T) {
	conflict := apierrors.NewConflict(parenttest.ThingResource(true, true).GroupResource(), "p", errors.New("newer"))
	invalid := apierrors.NewBadRequest("no such field")
	cases := map[string]struct {
		reason string
		read   engines.ReadSet
		refuse error
		again  bool
		sent   []any
		kept   bool
		err    bool
	}{
		"NotRead":   {"It makes no difference.", readsSpec, nil, false, nil, true, false},
		"Read":      {"It has not seen what it answered last.", engines.ReadSet{"parent.status"}, nil, true, []any{statusOfN(2)}, false, false},
		"Unknown":   {"It may have read it.", nil, nil, true, []any{statusOfN(2)}, false, false},
		"Conflict":  {"The retry writes it.", nil, conflict, true, nil, true, true},
		"Unwritten": {"The children are not held up by it.", nil, invalid, true, nil, false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newLeftStatusEnv(t)
			e.conclude(e.next(readsSpec), variant.Desired{Status: statusOfN(2)}, true)
			p := e.next(tc.read)
			e.server.Refuse = tc.refuse
			if p.sawOldStatus() != tc.again {
				t.Fatalf("%s\nthe hook has to be called again: %v", tc.reason, !tc.again)
			}
			if tc.again {
				result, err := p.callAgain(t.Context(), nil)
				if (err != nil) != tc.err || err == nil && (result.RequeueAfter <= 0 || !result.Unfinished) {
					t.Errorf("%s\ngot %+v and %v", tc.reason, result, err)
				}
			}
			if diff := cmp.Diff(tc.sent, e.server.Sent); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
			if _, kept := p.deferredStatuses.Of(p.key, "u"); kept != tc.kept {
				t.Errorf("%s\nthe status is kept for later: %v", tc.reason, kept)
			}
			if next := e.next(tc.read); !tc.kept && next.sawOldStatus() {
				t.Errorf("%s\nthe hook is called again and again", tc.reason)
			}
		})
	}
}

// TestForgottenParentHasNoStatus has a pass fail after one that has written the status, or was skipped.
func TestForgottenParentHasNoStatus(t *testing.T) {
	e := newLeftStatusEnv(t)
	p := e.next(readsSpec)
	e.conclude(p, variant.Desired{Status: statusOfN(2)}, true)
	p.deferredStatuses.Forget(p.key)
	if err := e.next(nil).writeLeftStatus(t.Context(), errors.New("boom")); err == nil {
		t.Error("the error of the pass is lost")
	}
	e.wantSent()
}

// TestRejectedStatusIsNoLoop has the API server reject a status more often than the limit of
// status writes.
func TestRejectedStatusIsNoLoop(t *testing.T) {
	things := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	parent := parenttest.ThingWith(t, "")
	client, requests := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), 0
	client.PrependReactor("update", "things", func(clienttesting.Action) (bool, runtime.Object, error) {
		requests++
		return true, nil, apierrors.NewConflict(things.GroupResource(), "a", errors.New("newer"))
	})
	client.PrependReactor("get", "things", func(clienttesting.Action) (bool, runtime.Object, error) {
		edited := parent.DeepCopy()
		edited.Object["spec"] = map[string]any{"edited": true}
		return true, edited, nil
	})
	events := record.NewFakeRecorder(10)
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	r := &shared{
		env:      Environment{Client: client, Events: Recorders{Rare: events}},
		memories: memories{pendingWrites: writes.NewPending(clocktesting.NewFakeClock(time.Unix(0, 0))), detector: loops.NewDetector(clock), passCache: answers.NewCache(lru.New(1<<20), ""), status: statuses.NewWriter(client, nil, clock), deferredStatuses: statuses.NewDeferred()},
	}
	source := &sources.Parent{ParentRule: variant.ParentRule{Resource: parenttest.ThingResource(true, true)}}
	for range 2 * loops.MaxRewrites {
		p := &pass{shared: r, source: source, parent: parent, observed: variant.Observed{Parent: parent}}
		if err := p.writeStatus(t.Context(), variant.Desired{Status: map[string]any{"count": int64(1)}}, true); !errors.Is(err, controller.ErrLater) {
			t.Fatalf("error %v, want ErrLater", err)
		}
	}
	if requests != 2*loops.MaxRewrites || len(events.Events) > 0 {
		t.Errorf("%d of %d were sent, and %d events emitted", requests, 2*loops.MaxRewrites, len(events.Events))
	}
}

// TestStatusOfABusyParent has others annotate the parent between each read and write.
func TestStatusOfABusyParent(t *testing.T) {
	things := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"}
	parent := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing", "metadata": map[string]any{"name": "a", "resourceVersion": "1"},
	}}
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	client.PrependReactor("get", "things", func(clienttesting.Action) (bool, runtime.Object, error) {
		annotated := parent.DeepCopy()
		annotated.SetResourceVersion("2")
		annotated.SetAnnotations(map[string]string{"heartbeat": "2"})
		annotated.Object["status"] = map[string]any{"theirs": true}
		return true, annotated, nil
	})
	client.PrependReactor("update", "things", func(action clienttesting.Action) (bool, runtime.Object, error) {
		sent := action.(clienttesting.UpdateAction).GetObject().(*unstructured.Unstructured)
		if sent.GetResourceVersion() != "2" {
			return true, nil, apierrors.NewConflict(things.GroupResource(), "a", errors.New("newer"))
		}
		return true, sent, nil
	})
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	r := &shared{
		env:      Environment{Client: client, Events: Recorders{Rare: record.NewFakeRecorder(10)}},
		memories: memories{pendingWrites: writes.NewPending(clock), detector: loops.NewDetector(clock), passCache: answers.NewCache(lru.New(1<<20), ""), status: statuses.NewWriter(client, nil, clock), deferredStatuses: statuses.NewDeferred()},
	}
	defer r.pendingWrites.Close()
	source := &sources.Parent{ParentRule: variant.ParentRule{Resource: discovery.Resource{GroupVersionResource: things, HasStatus: true, Custom: true}}}
	p := &pass{shared: r, source: source, parent: parent, observed: variant.Observed{Parent: parent}}
	if err := p.writeStatus(t.Context(), variant.Desired{Status: map[string]any{"count": int64(1)}}, true); err != nil {
		t.Fatal(err)
	}
	if got, _, _ := unstructured.NestedInt64(p.parent.Object, "status", "count"); got != 1 || p.parent.GetAnnotations()["heartbeat"] != "2" {
		t.Errorf("the parent is %v, want its status over what others have written", p.parent.Object)
	}
	theirs := p.hashPart(&unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"theirs": true}}}, loops.ParentStatus)
	if origin := p.detector.OriginOf(p.parentSubject(loops.ParentStatus), p.hashPart(p.parent, loops.ParentStatus)); origin != theirs {
		t.Error("what others have written meanwhile counts as own")
	}
}
