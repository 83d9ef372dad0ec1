package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Times of the election. Other processes take the lease leaseDuration after its last renewal.
const (
	leaseDuration = 15 * time.Second
	renewDeadline = 10 * time.Second
	retryPeriod   = 2 * time.Second
	// writesFor is how long after a renewal was sent this process may send writes, which is until it gives up renewing. What is left of
	// the lease is for requests that are under way then.
	writesFor = renewDeadline + retryPeriod
)

// lease is a lock that knows until when this process may write. Only the elector calls the methods of the lock.
type lease struct {
	resourcelock.Interface
	name string
	now  func() time.Time
	// onLost is called when this process led and may not write any more.
	onLost func(error)
	// ended is set once everything that writes has returned: only then may the lease be released.
	ended atomic.Bool

	start time.Time
	until atomic.Int64 // Since start, by the monotonic clock. Zero while another process may lead.
}

func newLease(lock resourcelock.Interface, name string, now func() time.Time, onLost func(error)) *lease {
	return &lease{Interface: lock, name: name, now: now, onLost: onLost, start: now()}
}

// held reports whether no other process can hold the lease by now.
func (l *lease) held() bool { return int64(l.now().Sub(l.start)) < l.until.Load() }

// lose ends the right to write, and reports the loss if there was one.
func (l *lease) lose(why string) {
	if l.until.Swap(0) > 0 {
		l.onLost(fmt.Errorf("leader election: the lease %s was lost: %s", l.name, why))
	}
}

// Get also looks whether another process has the lease.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != l.Identity() {
		l.lose(fmt.Sprintf("its holder is %q", record.HolderIdentity))
	}
	return record, raw, err
}

// Create takes the lease.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renew(func() error { return l.Interface.Create(ctx, record) })
}

// Update renews or releases the lease. The elector releases it also when it has given up, or after another process took it: then it must
// stay as it is.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if record.HolderIdentity == l.Identity() {
		return l.renew(func() error { return l.Interface.Update(ctx, record) })
	}
	if !l.ended.Load() || !l.held() {
		return fmt.Errorf("the lease %s is not released: it may be that of another process, or this one has not ended its work", l.name)
	}
	l.until.Store(0)
	return l.Interface.Update(ctx, record)
}

// renew counts from before the request, because others count from when they see what it wrote.
func (l *lease) renew(write func() error) error {
	sent := l.now().Sub(l.start)
	err := write()
	if err == nil {
		l.until.Store(int64(sent + writesFor))
	}
	return err
}

// check returns an error, and reports the loss, if this process may not write.
func (l *lease) check() error {
	if l.held() {
		return nil
	}
	l.lose(fmt.Sprintf("it was not renewed for %s, and another process may have it", writesFor))
	return fmt.Errorf("not sent: this process does not hold the lease %s any more", l.name)
}

// guard returns a copy of config whose clients send no write unless the lease is held.
func (l *lease) guard(config *rest.Config) *rest.Config {
	guarded := rest.CopyConfig(config)
	guarded.Wrap(func(next http.RoundTripper) http.RoundTripper { return guardedTransport{next, l} })
	return guarded
}

// guardedTransport refuses writes without the lease.
type guardedTransport struct {
	next  http.RoundTripper
	lease *lease
}

// RoundTrip checks the lease before it passes a write on, and again when the body is sent: in between it may wait for a connection.
func (t guardedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet || request.Method == http.MethodHead {
		return t.next.RoundTrip(request)
	}
	if err := t.lease.check(); err != nil {
		if request.Body != nil {
			request.Body.Close()
		}
		return nil, err
	}
	if request.Body == nil || request.Body == http.NoBody {
		return t.next.RoundTrip(request)
	}
	guarded := request.WithContext(request.Context()) // A copy: a RoundTripper must not change its request.
	guarded.Body = guardedBody{request.Body, t.lease}
	if again := request.GetBody; again != nil {
		guarded.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return guardedBody{body, t.lease}, err
		}
	}
	return t.next.RoundTrip(guarded)
}

// WrappedRoundTripper returns the transport behind this one, for client-go.
func (t guardedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// guardedBody is a body that can't be read without the lease. A request without all of its body writes nothing.
type guardedBody struct {
	io.ReadCloser
	lease *lease
}

// Read reads nothing without the lease.
func (b guardedBody) Read(p []byte) (int, error) {
	if err := b.lease.check(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p)
}
