package parent

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

func TestPartialWrites(t *testing.T) {
	const owner = types.UID("p-uid")
	written := parenttest.Partial(parenttest.Object("a", parenttest.AtVersion("13"), parenttest.WithUID("a-uid")))
	at := func(v string) *unstructured.Unstructured {
		return parenttest.Object("a", parenttest.AtVersion(v), parenttest.WithUID("a-uid"))
	}
	cases := map[string]struct {
		reason    string
		do        func(p *pendingWrites, clock *clocktesting.FakeClock)
		delay     time.Duration
		overdue   int
		completed string // version
		created   int
	}{
		"Written": {"The content is awaited.", func(*pendingWrites, *clocktesting.FakeClock) {}, contentWait, 0, "", 0},
		"Older": {"An older version completes nothing.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.observe(informer.Event{New: at("12")})
		}, contentWait, 0, "", 0},
		"Shown": {"The event of the write completes it.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.observe(informer.Event{New: at("13")})
		}, 0, 0, "13", 0},
		"Created": {"A creation leaves no rest.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			created := parenttest.Partial(at("13"))
			created.Change.Action = apply.ActionCreate
			p.notePartial(owner, created)
			p.observe(informer.Event{New: at("13")})
		}, 0, 0, "", 0},
		"Newer": {"So does a newer version, but what became of the write is not known.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.observe(informer.Event{New: at("14")})
		}, 0, 0, "", 0},
		"Gone": {"So does the deletion.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.observe(informer.Event{Old: at("12")})
		}, 0, 0, "", 0},
		"Another": {"The deletion of an earlier object of that name does not.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.observe(informer.Event{Old: parenttest.Object("a", parenttest.AtVersion("9"), parenttest.WithUID("earlier"))})
		}, contentWait, 0, "", 0},
		"Moving": {"The watch is late, but not dead.", func(p *pendingWrites, clock *clocktesting.FakeClock) {
			clock.Step(contentWait - time.Millisecond)
			p.observe(informer.Event{New: parenttest.Object("b", parenttest.AtVersion("12"), parenttest.WithUID("b-uid"))})
			clock.Step(contentWait - time.Millisecond)
		}, time.Millisecond, 0, "", 0},
		"Stopped": {"It was late, and is dead now.", func(p *pendingWrites, clock *clocktesting.FakeClock) {
			clock.Step(contentWait - time.Millisecond)
			p.observe(informer.Event{New: parenttest.Object("b", parenttest.AtVersion("12"), parenttest.WithUID("b-uid"))})
			clock.Step(contentWait)
		}, 0, 1, "", 0},
		"MovingForLong": {"It does not show this object.", func(p *pendingWrites, clock *clocktesting.FakeClock) {
			for range maxContentWait / (contentWait / 2) {
				clock.Step(contentWait / 2)
				p.observe(informer.Event{New: parenttest.Object("b", parenttest.AtVersion("12"), parenttest.WithUID("b-uid"))})
			}
		}, 0, 1, "", 0},
		"OtherMoves": {"The watch of another kind does.", func(p *pendingWrites, clock *clocktesting.FakeClock) {
			clock.Step(contentWait / 2)
			other := parenttest.Object("b", parenttest.AtVersion("12"), parenttest.WithUID("b-uid"))
			other.SetKind("Other")
			p.observe(informer.Event{New: other})
			clock.Step(contentWait / 2)
		}, 0, 1, "", 0},
		"Late": {"After a while it is read.", func(_ *pendingWrites, clock *clocktesting.FakeClock) {
			clock.Step(contentWait)
		}, 0, 1, "", 0},
		"Second": {"The last write counts.", func(p *pendingWrites, clock *clocktesting.FakeClock) {
			clock.Step(contentWait / 2)
			p.notePartial(owner, parenttest.Partial(parenttest.Object("b")))
		}, contentWait, 0, "", 0},
		"FirstShown": {"Others of the owner are awaited still.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.notePartial(owner, parenttest.Partial(parenttest.Object("b")))
			p.observe(informer.Event{New: at("13")})
		}, contentWait, 0, "13", 0},
		"OtherOwner": {"Those of other owners are not.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.notePartial("other", parenttest.Partial(parenttest.Object("b")))
			p.observe(informer.Event{New: at("13")})
		}, 0, 0, "13", 0},
		"Read": {"What was read is known, and kept until the cache shows it.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.setContent(written, at("13"), nil)
		}, 0, 0, "13", 1},
		"ReadNewer": {"So is a newer version.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.setContent(written, at("15"), nil)
		}, 0, 0, "", 1},
		"ReadGone": {"It was deleted.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.setContent(written, nil, nil)
		}, 0, 0, "", 0},
		"ReadAnother": {"It was deleted, and another has its name.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.setContent(written, parenttest.Object("a", parenttest.AtVersion("15"), parenttest.WithUID("later")), nil)
		}, 0, 0, "", 0},
		"ReadAfterEvent": {"An event that came while it was read counts.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.observe(informer.Event{New: at("14")})
			p.setContent(written, at("13"), nil)
		}, 0, 0, "", 0},
		"WrittenAsParent": {"A full answer to another write of the object tells its content.", func(p *pendingWrites, _ *clocktesting.FakeClock) {
			p.noteWritten("a-uid", at("14"), false)
		}, 0, 0, "", 0},
		"Expired": {"After a minute it is given up.", func(p *pendingWrites, clock *clocktesting.FakeClock) {
			clock.Step(2 * pendingWriteTTL)
			p.expire()
		}, 0, 0, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			p := newPendingWrites(clock)
			defer p.close()
			completed := ""
			p.completed = func(o apply.Outcome) { completed = o.Object.GetResourceVersion() }
			p.notePartial(owner, written)
			tc.do(p, clock)
			delay, overdue := p.contentDelay(owner)
			if delay != tc.delay || len(overdue) != tc.overdue || p.awaitsContent(owner) != (delay > 0 || len(overdue) > 0) {
				t.Errorf("%s\nwaits %s and then for %d objects, want %s and %d", tc.reason, delay, len(overdue), tc.delay, tc.overdue)
			}
			if completed != tc.completed {
				t.Errorf("%s\nversion %q completed the outcome, want %q", tc.reason, completed, tc.completed)
			}
			if created := p.createdBy(owner); len(created) != tc.created {
				t.Errorf("%s\n%v are created and known, want %d", tc.reason, parenttest.Names(created), tc.created)
			}
		})
	}
}

// TestPartialWriteIsNotShown checks that what has no content is no object to anyone.
func TestPartialWriteIsNotShown(t *testing.T) {
	p := newPendingWrites(clocktesting.NewFakeClock(time.Unix(1000, 0)))
	defer p.close()
	p.notePartial("p-uid", parenttest.Partial(parenttest.Object("a", parenttest.AtVersion("13"))))
	cached := parenttest.Object("a", parenttest.AtVersion("12"))
	if got := p.newest(cached); got != cached {
		t.Errorf("got version %s without content, want what the cache has", got.GetResourceVersion())
	}
}

// TestAwaitContents checks when a pass is made again that has written.
func TestAwaitContents(t *testing.T) {
	cases := map[string]struct {
		reason string
		wrote  bool
		shown  bool
		result time.Duration
		want   time.Duration
	}{
		"Nothing":  {"Nothing was written.", false, false, time.Minute, time.Minute},
		"Awaited":  {"No event may come.", true, false, time.Minute, contentWait},
		"Sooner":   {"The hook wants to be called sooner.", true, false, time.Millisecond, time.Millisecond},
		"NoResync": {"There is no other time.", true, false, 0, contentWait},
		"Shown":    {"All events came while the pass ran, when others were awaited.", true, true, 0, debounce},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			r := &shared{pendingWrites: newPendingWrites(clock)}
			defer r.pendingWrites.close()
			p := &pass{shared: r, parent: parenttest.Object("p", parenttest.WithUID("p-uid")), wrotePartial: tc.wrote}
			if tc.wrote {
				r.pendingWrites.notePartial("p-uid", parenttest.Partial(parenttest.Object("a", parenttest.AtVersion("13"))))
			}
			if tc.shown {
				r.pendingWrites.observe(informer.Event{New: parenttest.Object("a", parenttest.AtVersion("13"))})
			}
			if got := p.awaitContents(controller.Result{RequeueAfter: tc.result}); got.RequeueAfter != tc.want {
				t.Errorf("%s\nthe next pass is after %s, want %s", tc.reason, got.RequeueAfter, tc.want)
			}
		})
	}
}

// TestSyncContents checks what becomes of objects that are read because no event has shown them.
func TestSyncContents(t *testing.T) {
	configMaps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	live := func(uid, version string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"text": "x"},
			"metadata": map[string]any{"name": "a", "namespace": "ns", "uid": uid, "resourceVersion": version},
		}}
	}
	cases := map[string]struct {
		reason string
		live   *unstructured.Unstructured
		err    error
		known  string // version
		wrong  bool
	}{
		"Written": {"It is as it was written.", live("u", "13"), nil, "13", false},
		"Newer":   {"Another has written it since.", live("u", "14"), nil, "14", false},
		"Another": {"It was deleted and created anew by another.", live("v", "15"), nil, "", false},
		"Gone":    {"It was deleted.", nil, apierrors.NewNotFound(configMaps.GroupResource(), "a"), "", false},
		"Refused": {"It can't be read: the pass is retried.", nil, apierrors.NewForbidden(configMaps.GroupResource(), "a", nil), "", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
			client.PrependReactor("get", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) { return true, tc.live, tc.err })
			pool := informer.NewPool(t.Context(), client, logr.Discard())
			r := &shared{env: Environment{Client: client, Pool: pool}, pendingWrites: newPendingWrites(clock)}
			defer r.pendingWrites.close()
			written := parenttest.Partial(live("u", "13"))
			written.Change.Resource = configMaps
			r.pendingWrites.notePartial("p-uid", written)
			parent := parenttest.Object("p", parenttest.WithUID("p-uid"))
			if delay, err := r.syncContents(t.Context(), parent); delay != contentWait || err != nil || len(client.Actions()) > 0 {
				t.Fatalf("at first it waits %s (%v) and reads %v", delay, err, client.Actions())
			}
			clock.Step(contentWait)
			delay, err := r.syncContents(t.Context(), parent)
			if delay != 0 || (err != nil) != tc.wrong || len(client.Actions()) != 1 {
				t.Errorf("%s\nit waits %s (%v) and reads %v", tc.reason, delay, err, client.Actions())
			}
			if waits := r.pendingWrites.awaitsContent("p-uid"); waits != tc.wrong {
				t.Errorf("%s\nits content is awaited: %v", tc.reason, waits)
			}
			known := ""
			for _, created := range r.pendingWrites.createdBy("p-uid") {
				known += created.GetResourceVersion()
				if created.Object["data"] == nil {
					t.Errorf("%s\nit has no content", tc.reason)
				}
			}
			if known != tc.known {
				t.Errorf("%s\nversion %q is known, want %q", tc.reason, known, tc.known)
			}
		})
	}
}
