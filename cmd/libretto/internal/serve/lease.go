package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/membership"
)

// leaseTimes are the times of an election. Other processes take the lease duration after its last renewal.
type leaseTimes struct{ duration, renewDeadline, retryPeriod time.Duration }

// defaultLeaseTimes have another process lead within 8 s after the leader was killed: it sees the last renewal and the end of the lease
// up to retryPeriod too late, and up to 1.2 times that later, by which client-go spreads its tries.
var defaultLeaseTimes = leaseTimes{duration: 6 * time.Second, renewDeadline: 4 * time.Second, retryPeriod: 500 * time.Millisecond}

// writesFor returns how long after a renewal was sent this process may send writes, which is until it gives up renewing. What is left of
// the lease is for requests that are under way then.
func (t leaseTimes) writesFor() time.Duration { return t.renewDeadline + t.retryPeriod }

// check returns an error if the times do not go together.
func (t leaseTimes) check() error {
	switch {
	case t.retryPeriod <= 0:
		return errors.New("--leader-elect-retry-period must be more than 0")
	case t.renewDeadline <= t.retryPeriod*2:
		return errors.New("--leader-elect-renew-deadline must be more than twice --leader-elect-retry-period")
	case t.duration%time.Second != 0:
		return errors.New("--leader-elect-lease-duration must be whole seconds, as the lease has them")
	case t.duration <= t.writesFor():
		return errors.New("--leader-elect-lease-duration must be more than --leader-elect-renew-deadline and --leader-elect-retry-period " +
			"together: what is left is for requests that are under way when the process may not write any more")
	}
	return nil
}

// lease is a lock that knows until when this process may write. Only the elector calls the methods of the lock.
type lease struct {
	resourcelock.Interface
	name string
	now  func() time.Time
	// writesFor is how long after a renewal this process may write.
	writesFor time.Duration
	// onLost is called when this process led and may not write any more.
	onLost func(error)
	// watch watches the lease.
	watch func(context.Context) (watch.Interface, error)
	// writing is held while the lease is written.
	writing sync.Mutex
	// own is set for a lease that nobody else takes, and that stands for what others take once it is over: then it is not taken again.
	own bool
	// unsharded looks for replicas with shards, beside which this process may not work. It is nil in such, and then nobody else may be one.
	unsharded *membership.Unsharded
	// leases and retryPeriod are for what the elector does not do.
	leases      coordinationclient.LeaseInterface
	retryPeriod time.Duration
	// led is set once this process has taken the lease.
	led atomic.Bool
	// ended is set once everything that writes has returned: only then may the lease be released.
	ended atomic.Bool

	start time.Time
	until atomic.Int64 // Since start, by the monotonic clock. Zero while another process may lead.
}

func newLease(
	lock resourcelock.Interface, name string, writesFor time.Duration, now func() time.Time, onLost func(error),
) *lease {
	return &lease{Interface: lock, name: name, writesFor: writesFor, now: now, onLost: onLost, start: now()}
}

// held reports whether no other process can hold the lease by now.
func (l *lease) held() bool { return int64(l.now().Sub(l.start)) < l.until.Load() }

// lose ends the right to write, and reports the loss if there was one.
func (l *lease) lose(why string) {
	if l.until.Swap(0) > 0 {
		l.onLost(fmt.Errorf("leader election: the lease %s was lost: %s", l.name, why))
	}
}

// Get also looks whether another process has the lease. The elector counts the duration of a lease from when it first saw these bytes, in
// which client-go has the renewal in whole seconds: it would take the lease up to a second too early. So the rest of it is added.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err != nil {
		return nil, nil, err
	}
	raw = strconv.AppendInt(raw, int64(record.RenewTime.Nanosecond()), 10)
	if record.HolderIdentity != l.Identity() {
		l.lose(fmt.Sprintf("its holder is %q", record.HolderIdentity))
		if l.own && l.led.Load() {
			return nil, nil, fmt.Errorf("the lease %s is not taken again", l.name)
		}
	}
	return record, raw, nil
}

// Create takes the lease.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.own && l.led.Load() {
		l.lose("somebody has deleted it")
		return fmt.Errorf("the lease %s is not taken again", l.name)
	}
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

// awaitRelease calls released once another process has released the lease, and this one has not taken it yet, until ctx ends. Without the
// right to watch the lease the elector finds that out by its next try.
func (l *lease) awaitRelease(ctx context.Context, log logr.Logger, released func()) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		events, err := l.watch(ctx)
		if err != nil {
			log.V(1).Info("the lease is not watched: another process leads a little later", "lease", l.name, "error", err.Error())
			if apierrors.IsForbidden(err) {
				stop()
			}
			return
		}
		defer events.Stop()
		for event := range events.ResultChan() {
			if l.led.Load() {
				stop()
				return
			}
			lease, is := event.Object.(*coordinationv1.Lease)
			// The first event is about how the lease is now, which the elector sees.
			if is && (event.Type == watch.Deleted || event.Type == watch.Modified && ptr.Deref(lease.Spec.HolderIdentity, "") == "") {
				l.writing.Lock() // The elector may be taking it.
				if !l.held() {
					released()
				}
				l.writing.Unlock()
			}
		}
	}, time.Second)
}

// findMember returns a replica with shards that may work, or "".
func (l *lease) findMember(ctx context.Context) (string, error) {
	if l.unsharded == nil {
		return "", nil
	}
	member, err := l.unsharded.FindMember(ctx)
	if apierrors.IsForbidden(err) { // The rights are those of a release without shards.
		return "", nil
	}
	return member, err
}

// awaitUnsharded waits until no replica with shards works. It returns false if ctx ends.
func (l *lease) awaitUnsharded(ctx context.Context, log logr.Logger) bool {
	said := false
	return wait.PollUntilContextCancel(ctx, l.retryPeriod, true, func(ctx context.Context) (bool, error) {
		member, err := l.findMember(ctx)
		if member != "" && !said {
			said = true
			log.Info("waiting: a replica with --shards works, and this process has no such flag. It works once all with it are gone",
				"replica", member)
		}
		return member == "" && err == nil, nil
	}) == nil && ctx.Err() == nil
}

// isUnsharded reports whether no replica with shards works. It asks until that is known, or ctx ends.
func (l *lease) isUnsharded(ctx context.Context) bool {
	member := ""
	err := wait.PollUntilContextCancel(ctx, l.retryPeriod, true, func(ctx context.Context) (known bool, err error) {
		member, err = l.findMember(ctx)
		return err == nil, nil
	})
	return err == nil && member == ""
}

// remove deletes a lease that was released: nobody needs it any more.
func (l *lease) remove(ctx context.Context, log logr.Logger) {
	_, name, _ := strings.Cut(l.name, "/")
	lease, err := l.leases.Get(ctx, name, metav1.GetOptions{})
	if err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
		at := metav1.Preconditions{ResourceVersion: &lease.ResourceVersion}
		err = l.leases.Delete(ctx, name, metav1.DeleteOptions{Preconditions: &at})
	}
	if err != nil {
		log.V(1).Info("the lease is deleted by another replica", "lease", l.name, "error", err.Error())
	}
}

// renew counts from before the request, because others count from when they see what it wrote.
func (l *lease) renew(write func() error) error {
	l.writing.Lock()
	defer l.writing.Unlock()
	sent := l.now().Sub(l.start)
	err := write()
	if err == nil {
		l.led.Store(true)
		l.until.Store(int64(sent + l.writesFor))
	}
	return err
}

// check returns an error, and reports the loss, if this process may not write.
func (l *lease) check() error {
	if l.held() {
		return nil
	}
	l.lose(fmt.Sprintf("it was not renewed for %s, and another process may have it", l.writesFor))
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
	if request.Method == http.MethodGet || request.Method == http.MethodHead || storesNothing(request) {
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

// storesNothing reports whether a request is a POST by which the API server stores nothing: for a token of an account, or for what that
// may do. A process that waits reads as accounts, too.
func storesNothing(request *http.Request) bool {
	path := request.URL.Path
	return request.Method == http.MethodPost && (strings.HasSuffix(path, "/selfsubjectaccessreviews") ||
		strings.HasPrefix(path, "/api/v1/namespaces/") && strings.Contains(path, "/serviceaccounts/") && strings.HasSuffix(path, "/token"))
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
