package parent

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

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
		"Awaited":  {"No event may come.", true, false, time.Minute, writes.ContentWait},
		"Sooner":   {"The hook wants to be called sooner.", true, false, time.Millisecond, time.Millisecond},
		"NoResync": {"There is no other time.", true, false, 0, writes.ContentWait},
		"Shown":    {"All events came while the pass ran, when others were awaited.", true, true, 0, debounce},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
			r := &shared{memories: memories{pendingWrites: writes.NewPending(clock)}}
			defer r.pendingWrites.Close()
			p := &pass{shared: r, parent: parenttest.Object("p", parenttest.WithUID("p-uid")), writes: passWrites{partial: tc.wrote}}
			if tc.wrote {
				r.pendingWrites.NotePartial("p-uid", parenttest.Partial(parenttest.Object("a", parenttest.AtVersion("13"))))
			}
			if tc.shown {
				r.pendingWrites.Observe(informer.Event{New: parenttest.Object("a", parenttest.AtVersion("13"))})
			}
			if got := p.awaitContents(controller.Result{RequeueAfter: tc.result}); got.RequeueAfter != tc.want {
				t.Errorf("%s\nthe next pass is after %s, want %s", tc.reason, got.RequeueAfter, tc.want)
			}
		})
	}
}

// TestSyncContents checks how objects are handled that are read because no event has shown them.
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
			r := &shared{env: Environment{Client: client, Pool: pool}, memories: memories{pendingWrites: writes.NewPending(clock)}}
			defer r.pendingWrites.Close()
			written := parenttest.Partial(live("u", "13"))
			written.Change.Resource = configMaps
			r.pendingWrites.NotePartial("p-uid", written)
			parent := parenttest.Object("p", parenttest.WithUID("p-uid"))
			if delay, err := r.syncContents(t.Context(), parent); delay != writes.ContentWait || err != nil || len(client.Actions()) > 0 {
				t.Fatalf("at first it waits %s (%v) and reads %v", delay, err, client.Actions())
			}
			clock.Step(writes.ContentWait)
			delay, err := r.syncContents(t.Context(), parent)
			if delay != 0 || (err != nil) != tc.wrong || len(client.Actions()) != 1 {
				t.Errorf("%s\nit waits %s (%v) and reads %v", tc.reason, delay, err, client.Actions())
			}
			if waits := r.pendingWrites.AwaitsContent("p-uid"); waits != tc.wrong {
				t.Errorf("%s\nits content is awaited: %v", tc.reason, waits)
			}
			known := ""
			for _, created := range r.pendingWrites.CreatedBy("p-uid") {
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
