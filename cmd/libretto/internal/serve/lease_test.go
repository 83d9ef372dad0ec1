package serve

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// fakeLock is a lock in memory. A write takes so long, by the clock of the test, and may fail.
type fakeLock struct {
	resourcelock.Interface
	holder string
	writes int
	onSend func() error
}

func (f *fakeLock) Identity() string { return "self" }

func (f *fakeLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: f.holder}, nil, nil
}

func (f *fakeLock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return f.Update(ctx, record)
}

func (f *fakeLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	if f.onSend != nil {
		if err := f.onSend(); err != nil {
			return err
		}
	}
	f.writes++
	f.holder = record.HolderIdentity
	return nil
}

var writesFor = defaultLeaseTimes.writesFor()

// electing is a lease with its lock and clock.
type electing struct {
	*lease
	lock *fakeLock
	now  time.Time
	lost []string
}

func newElecting() *electing {
	e := &electing{lock: &fakeLock{}, now: time.Unix(1000, 0)}
	e.lease = newLease(e.lock, "a/b", writesFor, func() time.Time { return e.now }, func(err error) { e.lost = append(e.lost, err.Error()) })
	return e
}

func (e *electing) pass(d time.Duration) { e.now = e.now.Add(d) }

func (e *electing) write(holder string) error {
	return e.Update(context.Background(), resourcelock.LeaderElectionRecord{HolderIdentity: holder})
}

func (e *electing) read() {
	_, _, _ = e.Get(context.Background()) // fakeLock never fails.
}

// TestLease has the right to write after what can happen to a lease, and whether its loss is reported.
func TestLease(t *testing.T) {
	took := func(d time.Duration, err error) func(*electing) {
		return func(e *electing) {
			e.lock.onSend = func() error { e.pass(d); return err }
			_ = e.write("self") // Failures are among the cases.
		}
	}
	cases := map[string]struct {
		happens func(*electing)
		held    bool
		lost    string
	}{
		"nothing yet": {func(*electing) {}, false, ""},
		"taken":       {took(0, nil), true, ""},
		"created": {func(e *electing) {
			_ = e.Create(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "self"})
		}, true, ""},
		"refused":                   {took(0, errors.New("conflict")), false, ""},
		"almost over":               {func(e *electing) { took(0, nil)(e); e.pass(writesFor - 1) }, true, ""},
		"over":                      {func(e *electing) { took(0, nil)(e); e.pass(writesFor) }, false, "was not renewed"},
		"over when it was answered": {took(writesFor, nil), false, "was not renewed"},
		"renewed": {func(e *electing) {
			took(0, nil)(e)
			e.pass(writesFor - 1)
			took(0, nil)(e)
			e.pass(writesFor - 1)
		}, true, ""},
		"renewal refused":     {func(e *electing) { took(0, nil)(e); took(0, errors.New("conflict"))(e) }, true, ""},
		"read":                {func(e *electing) { took(0, nil)(e); e.read() }, true, ""},
		"another one is seen": {func(e *electing) { took(0, nil)(e); e.lock.holder = "other"; e.read() }, false, `its holder is "other"`},
		"another one led":     {func(e *electing) { e.lock.holder = "other"; e.read() }, false, ""},
		"another one led before": {func(e *electing) {
			e.lock.holder = "other"
			e.read()
			took(0, nil)(e)
		}, true, ""},
		"released": {func(e *electing) { took(0, nil)(e); e.ended.Store(true); _ = e.write("") }, false, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := newElecting()
			c.happens(e)
			for range 2 { // The loss is reported once.
				if err := e.check(); (err == nil) != c.held {
					t.Errorf("a write: %v, want that it may be sent: %v", err, c.held)
				}
			}
			if got := strings.Join(e.lost, ", "); (got == "") != (c.lost == "") || !strings.Contains(got, c.lost) || len(e.lost) > 1 {
				t.Errorf("the loss is reported as %q, want %q", e.lost, c.lost)
			}
		})
	}
}

// TestRenewalsOfOneSecond has the elector see each renewal, also two of the same second.
func TestRenewalsOfOneSecond(t *testing.T) {
	second := time.Unix(1000, 0)
	client := fake.NewClientset().CoordinationV1()
	e := newElecting()
	lock := resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "a", Name: "b"}, Client: client}
	e.Interface = &lock
	seen := map[string]time.Duration{}
	for _, after := range []time.Duration{0, time.Microsecond, 999 * time.Millisecond, time.Second} {
		record := resourcelock.LeaderElectionRecord{HolderIdentity: "other", LeaseDurationSeconds: 3, RenewTime: metav1.NewTime(second.Add(after))}
		write := lock.Update
		if after == 0 {
			write = lock.Create
		}
		if err := write(t.Context(), record); err != nil {
			t.Fatal(err)
		}
		for _, again := range []bool{false, true} {
			_, raw, err := e.Get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if before, known := seen[string(raw)]; known != again || known && before != after {
				t.Errorf("%s, renewed %s after the second, which was seen before: %v, and is %s", raw, after, known, before)
			}
			seen[string(raw)] = after
		}
	}
}

// TestAwaitRelease has what a process that waits sees of the lease, and whether it tries to take it.
func TestAwaitRelease(t *testing.T) {
	heldBy := func(holder string) *coordinationv1.Lease {
		return &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	}
	for name, c := range map[string]struct {
		event watch.Event
		took  bool // the lease, just before
		want  bool
	}{
		"as it is":         {event: watch.Event{Type: watch.Added, Object: heldBy("")}},
		"renewed":          {event: watch.Event{Type: watch.Modified, Object: heldBy("other")}},
		"released":         {event: watch.Event{Type: watch.Modified, Object: heldBy("")}, want: true},
		"deleted":          {event: watch.Event{Type: watch.Deleted, Object: heldBy("other")}, want: true},
		"taken by oneself": {event: watch.Event{Type: watch.Modified, Object: heldBy("")}, took: true},
	} {
		t.Run(name, func(t *testing.T) {
			e, events, released := newElecting(), watch.NewFake(), false
			ctx, end := context.WithCancel(t.Context())
			e.watch = func(context.Context) (watch.Interface, error) { return events, nil }
			go func() {
				if c.took {
					_ = e.write("self") // fakeLock does not fail.
				}
				events.Action(c.event.Type, c.event.Object)
				end()
				events.Stop()
			}()
			if e.awaitRelease(ctx, logr.Discard(), func() { released = true }); released != c.want {
				t.Errorf("it tries to take the lease: %t, want %t", released, c.want)
			}
		})
	}
}

// TestRelease checks that the elector releases the lease only after the work has ended, and none that may be another's: it writes whatever
// it read last.
func TestRelease(t *testing.T) {
	cases := map[string]struct {
		happens func(*electing)
		want    string
	}{
		"after the work":                  {func(e *electing) { e.ended.Store(true) }, ""},
		"while it works":                  {func(*electing) {}, "self"},
		"after another one took it":       {func(e *electing) { e.ended.Store(true); e.lock.holder = "other" }, "other"},
		"after a time in which one could": {func(e *electing) { e.ended.Store(true); e.pass(writesFor) }, "self"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			e := newElecting()
			if err := e.write("self"); err != nil {
				t.Fatal(err)
			}
			c.happens(e)
			e.read()
			if err := e.write(""); (err == nil) != (c.want == "") {
				t.Errorf("releasing: %v", err)
			}
			if e.lock.holder != c.want {
				t.Errorf("it is held by %q, want %q", e.lock.holder, c.want)
			}
		})
	}
}

// TestGuard has every client of a host write and read with the lease and without it.
func TestGuard(t *testing.T) {
	var got atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err == nil {
			got.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}`)
	}))
	t.Cleanup(server.Close)
	e := newElecting()
	ctx := identity.WithAccount(t.Context(), identity.Account{})
	all, err := newClients(e.guard(&rest.Config{Host: server.URL}), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	resource := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetName("b")
	second := func(_ any, err error) error { return err }
	writes := map[string]func() error{
		"create": func() error {
			return second(all.bounded.Resource(resource).Namespace("a").Create(ctx, object, metav1.CreateOptions{}))
		},
		"update": func() error {
			return second(all.children.Resource(resource).Namespace("a").Update(ctx, object, metav1.UpdateOptions{}))
		},
		"patch": func() error {
			return second(all.boundedMetadata.Resource(resource).Namespace("a").Patch(
				ctx, "b", types.MergePatchType, []byte("{}"), metav1.PatchOptions{}))
		},
		"delete": func() error {
			return all.host.dynamic.Resource(resource).Namespace("a").Delete(ctx, "b", metav1.DeleteOptions{})
		},
		"typed": func() error { return all.typed.CoreV1().Secrets("a").Delete(ctx, "b", metav1.DeleteOptions{}) },
		"metadata": func() error {
			return all.metadata.Resource(resource).Namespace("a").Delete(ctx, "b", metav1.DeleteOptions{})
		},
		"without a body": func() error {
			return all.caches.Delete().AbsPath("/api/v1/namespaces/a/configmaps/b").Do(ctx).Error()
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			e.until.Store(0)
			got.Store(0)
			if err := write(); err == nil || !strings.Contains(err.Error(), "does not hold the lease a/b") || got.Load() > 0 {
				t.Errorf("without the lease: error %v and %d requests", err, got.Load())
			}
			if err := e.lease.Update(ctx, resourcelock.LeaderElectionRecord{HolderIdentity: "self"}); err != nil {
				t.Fatal(err)
			}
			if err := write(); err != nil || got.Load() != 1 {
				t.Errorf("with the lease: error %v and %d requests", err, got.Load())
			}
		})
	}
	e.until.Store(0)
	if _, err := all.typed.CoreV1().ServiceAccounts("a").CreateToken(ctx, "b", &authenticationv1.TokenRequest{}, metav1.CreateOptions{}); err != nil {
		t.Errorf("a token without the lease: %v", err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{}
	if _, err := all.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{}); err != nil {
		t.Errorf("a review without the lease: %v", err)
	}
	if _, err := all.bounded.Resource(resource).Namespace("a").Get(ctx, "b", metav1.GetOptions{}); err != nil {
		t.Errorf("reading without the lease: %v", err)
	}
}

// TestGuardWhileWaiting has the lease end while a write waits for its connection. The server gets no whole request.
func TestGuardWhileWaiting(t *testing.T) {
	e := newElecting()
	if err := e.write("self"); err != nil {
		t.Fatal(err)
	}
	sent := ""
	transport := guardedTransport{lease: e.lease, next: roundTripper(func(r *http.Request) (*http.Response, error) {
		e.pass(writesFor)
		for _, read := range []func() (io.ReadCloser, error){func() (io.ReadCloser, error) { return r.Body, nil }, r.GetBody} {
			body, err := read()
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(body)
			sent += string(text)
			if err == nil {
				return nil, errors.New("it could be read")
			}
		}
		return nil, errors.New("no body")
	})}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://a", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	//nolint:bodyclose // There is no response.
	if _, err := transport.RoundTrip(request); err == nil || err.Error() != "no body" || sent != "" {
		t.Errorf("error %v, sent %q", err, sent)
	}
	if len(e.lost) != 1 {
		t.Errorf("the loss is reported %d times", len(e.lost))
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
