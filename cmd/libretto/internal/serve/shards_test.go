package serve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/membership"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// leaseServer has leases in memory, and what has happened to them.
type leaseServer struct {
	mu      sync.Mutex
	leases  map[string]*coordinationv1.Lease
	history []watch.Event
	changed chan struct{} // Closed by each change.
}

func newLeaseServer() *leaseServer {
	return &leaseServer{leases: map[string]*coordinationv1.Lease{}, changed: make(chan struct{})}
}

// note gives a lease the next version, and tells those who watch. The caller holds mu.
func (s *leaseServer) note(kind watch.EventType, lease *coordinationv1.Lease) *coordinationv1.Lease {
	lease = lease.DeepCopy()
	lease.ResourceVersion = strconv.Itoa(len(s.history) + 1)
	if s.leases[lease.Name] = lease; kind == watch.Deleted {
		delete(s.leases, lease.Name)
	}
	s.history = append(s.history, watch.Event{Type: kind, Object: lease})
	close(s.changed)
	s.changed = make(chan struct{})
	return lease.DeepCopy()
}

// link is how a process reaches the server: each request and event takes a while on its way, and nothing passes while it is cut.
type link struct {
	coordinationclient.LeaseInterface
	*leaseServer
	mu    sync.Mutex
	cut   bool
	delay func() time.Duration
	// mayWrite is asked before each write, or nil.
	mayWrite func() error
}

var leaseResource = coordinationv1.Resource("leases")

func (l *link) Leases(string) coordinationclient.LeaseInterface { return l }

// pass lets time pass on the way. Of what was sent and is lost, the sender hears when it waits no longer.
func (l *link) pass(ctx context.Context) error {
	l.mu.Lock()
	cut, delay := l.cut, l.delay()
	l.mu.Unlock()
	if cut {
		delay = 2 * time.Second
	}
	select {
	case <-time.After(delay):
	case <-ctx.Done():
		return ctx.Err()
	}
	if cut {
		return errors.New("the network is cut")
	}
	return nil
}

// send has the server do something, unless it does not get there. What it answers may not arrive.
func (l *link) send(ctx context.Context, write bool, do func() (*coordinationv1.Lease, error)) (*coordinationv1.Lease, error) {
	if write && l.mayWrite != nil {
		if err := l.mayWrite(); err != nil {
			return nil, err
		}
	}
	if err := l.pass(ctx); err != nil {
		return nil, err
	}
	l.leaseServer.mu.Lock()
	lease, err := do()
	l.leaseServer.mu.Unlock()
	if lost := l.pass(ctx); lost != nil {
		return nil, lost
	}
	return lease, err
}

func (l *link) Get(ctx context.Context, name string, _ metav1.GetOptions) (*coordinationv1.Lease, error) {
	return l.send(ctx, false, func() (*coordinationv1.Lease, error) {
		if lease := l.leases[name]; lease != nil {
			return lease.DeepCopy(), nil
		}
		return nil, apierrors.NewNotFound(leaseResource, name)
	})
}

func (l *link) Create(ctx context.Context, lease *coordinationv1.Lease, _ metav1.CreateOptions) (*coordinationv1.Lease, error) {
	return l.send(ctx, true, func() (*coordinationv1.Lease, error) {
		if l.leases[lease.Name] != nil {
			return nil, apierrors.NewAlreadyExists(leaseResource, lease.Name)
		}
		return l.note(watch.Added, lease), nil
	})
}

// known returns an error unless a lease is there, in that version.
func (l *link) known(name, version string) error {
	switch lease := l.leases[name]; {
	case lease == nil:
		return apierrors.NewNotFound(leaseResource, name)
	case lease.ResourceVersion != version:
		return apierrors.NewConflict(leaseResource, name, errors.New("it was changed"))
	}
	return nil
}

func (l *link) Update(ctx context.Context, lease *coordinationv1.Lease, _ metav1.UpdateOptions) (*coordinationv1.Lease, error) {
	lease = lease.DeepCopy()
	return l.send(ctx, true, func() (*coordinationv1.Lease, error) {
		if err := l.known(lease.Name, lease.ResourceVersion); err != nil {
			return nil, err
		}
		return l.note(watch.Modified, lease), nil
	})
}

func (l *link) Delete(ctx context.Context, name string, options metav1.DeleteOptions) error {
	_, err := l.send(ctx, true, func() (*coordinationv1.Lease, error) {
		if err := l.known(name, ptr.Deref(options.Preconditions.ResourceVersion, "")); err != nil {
			return nil, err
		}
		return l.note(watch.Deleted, l.leases[name]), nil
	})
	return err
}

func (l *link) List(ctx context.Context, options metav1.ListOptions) (*coordinationv1.LeaseList, error) {
	list := &coordinationv1.LeaseList{}
	_, err := l.send(ctx, false, func() (*coordinationv1.Lease, error) {
		list.ResourceVersion = strconv.Itoa(len(l.history))
		for _, lease := range l.leases {
			if lease.Labels[membership.GroupLabel] != "" {
				list.Items = append(list.Items, *lease.DeepCopy())
			}
		}
		return nil, nil
	})
	return list, err
}

func (l *link) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil {
		return nil, apierrors.NewInvalid(coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind(), "", nil)
	}
	from, err := strconv.Atoi(options.ResourceVersion)
	if err != nil {
		return nil, err
	}
	events := make(chan watch.Event)
	watching := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		for {
			l.leaseServer.mu.Lock()
			next, changed := l.history[from:], l.changed
			l.leaseServer.mu.Unlock()
			for _, event := range next {
				from++
				if event.Object.(*coordinationv1.Lease).Labels[membership.GroupLabel] == "" {
					continue
				}
				if l.pass(ctx) != nil {
					return // It ends when the network is cut.
				}
				select {
				case events <- event:
				case <-watching.StopChan():
					return
				}
			}
			select {
			case <-changed:
			case <-watching.StopChan():
				return
			}
		}
	}()
	return watching, nil
}

// world is processes that share ranges, or don't.
type world struct {
	t      *testing.T
	server *leaseServer
	random *rand.Rand
	count  int

	mu        sync.Mutex
	processes []*process
	moves     int
}

// process is a host. Dead is one that was killed: it does nothing more.
type process struct {
	*world
	name   string
	lease  *lease
	shards int
	links  []*link
	end    context.CancelFunc
	ended  chan error
	// hosts are the ranges that it works on, which dead has none of.
	hosts map[int]bool
	dead  bool
}

// host is the work of a process on a range: all that matters is that it goes on. It takes a while to end.
func (p *process) host(ctx context.Context, r shard.Range) {
	p.mu.Lock()
	p.hosts[r.Index] = true
	p.moves++
	p.mu.Unlock()
	p.check()
	<-ctx.Done()
	time.Sleep(p.upTo(300 * time.Millisecond))
	p.mu.Lock()
	delete(p.hosts, r.Index)
	p.mu.Unlock()
}

// check has at most one process that may write for each range, and all divide alike.
func (w *world) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	writers := map[int]*process{}
	shards := 0
	for _, p := range w.processes {
		if p.dead || !p.lease.held() || len(p.hosts) == 0 {
			continue
		}
		if shards != 0 && p.shards != shards {
			w.t.Errorf("%s may write for some of %d ranges, and another one for some of %d", p.name, p.shards, shards)
		}
		shards = p.shards
		for i := range p.hosts {
			if other := writers[i]; other != nil {
				w.t.Errorf("%s and %s may both write for range %d", other.name, p.name, i)
			}
			writers[i] = p
		}
	}
}

// pass lets time pass.
func (w *world) pass(d time.Duration) {
	for until := time.Now().Add(d); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		w.check()
	}
}

func (w *world) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(w.random.Int64N(int64(d)))
}

// newLink returns a connection of a process.
func (p *process) newLink(mayWrite func() error) *link {
	l := &link{leaseServer: p.server, mayWrite: mayWrite, delay: func() time.Duration { return p.upTo(40 * time.Millisecond) }}
	p.links = append(p.links, l)
	return l
}

func (p *process) setCut(cut bool) {
	for _, l := range p.links {
		l.mu.Lock()
		l.cut = cut
		l.mu.Unlock()
	}
}

// work has a process without shards work on all ranges.
type unshardedWork struct {
	*process
	ctx context.Context
}

func (u unshardedWork) work() error {
	var all sync.WaitGroup
	for i := range u.count {
		all.Go(func() { u.host(u.ctx, shard.Range{Index: i, Count: u.count}) })
	}
	all.Wait()
	return nil
}
func (u unshardedWork) close() {}

type memberWork struct {
	*membership.Member
	ctx context.Context
}

func (m memberWork) work() error { return m.Run(m.ctx) }
func (m memberWork) close()      {}

// start starts a process.
func (w *world) start(name string, shards int) *process {
	p := &process{world: w, name: name, shards: shards, ended: make(chan error, 1), hosts: map[int]bool{}}
	ctx, end := context.WithCancel(w.t.Context())
	p.end = end
	electing, stop := context.WithCancelCause(context.Background())
	o := &election{on: true, name: "libretto", times: defaultLeaseTimes, shards: shards}
	identity := name + "_" + name
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Name: "libretto"}, Client: p.newLink(nil), LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	if o.isSharded() {
		lock.LeaseMeta.Name, lock.Labels = o.group().Member(identity)
	}
	p.lease = newLease(lock, "a/"+lock.LeaseMeta.Name, o.times.writesFor(), time.Now, stop)
	p.lease.own, p.lease.leases, p.lease.retryPeriod = o.isSharded(), p.newLink(nil), o.times.retryPeriod
	p.lease.watch = func(context.Context) (watch.Interface, error) {
		return nil, apierrors.NewForbidden(leaseResource, "", nil)
	}
	if !o.isSharded() {
		p.lease.unsharded = &membership.Unsharded{Leases: p.newLink(nil), Name: o.name, Now: time.Now}
	}
	working, quit := context.WithCancel(electing)
	context.AfterFunc(ctx, quit)
	context.AfterFunc(ctx, func() {
		if !p.lease.led.Load() {
			stop(nil)
		}
	})
	j := job(unshardedWork{p, working})
	if o.isSharded() {
		j = memberWork{membership.New(membership.Config{
			Group: o.group(), Identity: identity, Leases: p.newLink(p.lease.check), MayWrite: p.lease.held,
			Duration: o.times.duration, RetryPeriod: o.times.retryPeriod,
			Divide: func(context.Context) []shard.Range { return shard.Divide(nil, shards) }, Host: p.host,
			Waiting: func(*coordinationv1.Lease, string) {}, Metrics: membership.NewMetrics(prometheus.NewRegistry()), Log: logr.Discard(),
		}), working}
	}
	w.mu.Lock()
	w.processes = append(w.processes, p)
	w.mu.Unlock()
	go func() {
		err := elect(working, electing, stop, p.lease, o, logr.Discard(), j)
		if p.lease.own && errors.Is(err, context.Canceled) {
			p.lease.remove(context.Background(), logr.Discard())
		}
		w.mu.Lock()
		p.dead = true
		w.mu.Unlock()
		p.ended <- err
	}()
	return p
}

// kill ends a process as SIGKILL does: nothing of it reaches the server any more.
func (p *process) kill() {
	p.setCut(true)
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	p.end()
}

// stop ends a process as SIGTERM does.
func (p *process) stop() { p.end() }

// held returns the holders of the ranges, as "a a b c".
func (w *world) held() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	holders := make([]string, w.count)
	for i := range holders {
		holders[i] = "-"
		for _, p := range w.processes {
			if p.hosts[i] && !p.dead && p.lease.held() {
				holders[i] = p.name
			}
		}
	}
	return strings.Join(holders, " ")
}

// await waits until a condition holds, and returns how long that took.
func (w *world) await(what string, most time.Duration, is func(held string) bool) time.Duration {
	w.t.Helper()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		w.check()
		took := time.Since(began)
		if is(w.held()) {
			return took
		}
		if took > most {
			w.t.Errorf("%s: not within %s: ranges are held by %s", what, most, w.held())
			return took
		}
	}
}

// isBalanced reports whether all ranges are held, by each of some processes about equally many.
func isBalanced(held string, among int) bool {
	counts := map[string]int{}
	for holder := range strings.FieldsSeq(held) {
		counts[holder]++
	}
	if counts["-"] > 0 || len(counts) != among {
		return false
	}
	least, most := len(held), 0
	for _, n := range counts {
		least, most = min(least, n), max(most, n)
	}
	return most-least <= 1
}

func (w *world) endAll() {
	for _, p := range w.processes {
		p.end()
		<-p.ended
	}
}

func newWorld(t *testing.T, count int, seed uint64) *world {
	return &world{t: t, server: newLeaseServer(), random: rand.New(rand.NewPCG(seed, 0)), count: count}
}

// takenOver is how long it may take until the ranges of a process that was killed are held again.
const takenOver = 7 * time.Second // The lease and 1 s.

// TestShards has processes join, end and be killed, and counts the ranges that move.
func TestShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4, 1)
		a := w.start("a", 4)
		w.await("one alone", 2*time.Second, func(held string) bool { return held == "a a a a" })
		b, c := w.start("b", 4), w.start("c", 4)
		w.await("two more", 10*time.Second, func(held string) bool { return isBalanced(held, 3) })
		if w.moves > 4+2 {
			t.Errorf("%d ranges were taken, want 4 at first and 2 that move", w.moves)
		}
		w.moves = 0
		a.kill()
		t.Logf("killed: all ranges are held again after %s", w.await("one was killed", takenOver, func(held string) bool { return isBalanced(held, 2) }))
		b.stop()
		t.Logf("terminated: all ranges are held again after %s", w.await("one has ended", time.Second, func(held string) bool { return held == "c c c c" }))
		d := w.start("d", 4)
		w.await("another", 10*time.Second, func(held string) bool { return isBalanced(held, 2) })
		if w.moves > 2+2+2 {
			t.Errorf("%d ranges were taken, want 2 each time", w.moves)
		}
		_, _ = c, d
		w.endAll()
		for name := range w.server.leases {
			if strings.Contains(name, "libretto-b") || strings.Contains(name, "libretto-c") {
				t.Errorf("the lease %s is left", name)
			}
		}
	})
}

// TestOtherNumberOfShards starts processes with another number of ranges beside the first ones, which they replace once those are gone.
func TestOtherNumberOfShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4, 2)
		a, b := w.start("a", 4), w.start("b", 4)
		w.await("the first", 10*time.Second, func(held string) bool { return isBalanced(held, 2) })
		w.start("c", 2)
		w.start("d", 2)
		w.pass(10 * time.Second)
		a.stop()
		w.await("one is left", time.Second, func(held string) bool { return held == "b b b b" })
		w.pass(10 * time.Second)
		if held := w.held(); held != "b b b b" {
			t.Errorf("ranges are held by %s", held)
		}
		b.kill()
		w.count = 2
		w.await("the others", takenOver, func(held string) bool { return isBalanced(held, 2) })
		w.endAll()
	})
}

// TestUnshardedBesideShards starts processes with and without shards, of which only either work.
func TestUnshardedBesideShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4, 3)
		u := w.start("u", 1)
		w.await("unsharded", 2*time.Second, func(held string) bool { return held == "u u u u" })
		a := w.start("a", 4)
		w.pass(10 * time.Second)
		if held := w.held(); held != "u u u u" {
			t.Errorf("ranges are held by %s", held)
		}
		u.kill()
		w.await("sharded", takenOver, func(held string) bool { return held == "a a a a" })
		v := w.start("v", 1)
		w.pass(10 * time.Second)
		if held := w.held(); held != "a a a a" {
			t.Errorf("ranges are held by %s", held)
		}
		a.stop()
		w.await("unsharded again", 3*time.Second, func(held string) bool { return held == "v v v v" })
		_ = v
		w.endAll()
	})
}

// TestShardsAtRandom has anything happen to processes at any time: never do two work on one range, and all ranges are held soon after.
func TestShardsAtRandom(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1+int(seed%9), seed)
				pick := func(n int) int { return int(w.upTo(time.Duration(n))) }
				var alive []*process
				for n := range 40 {
					switch what := pick(8); {
					case what < 3 && len(alive) < 5 || len(alive) == 0:
						shards := 8
						if pick(6) == 0 {
							shards = 1 + pick(3)
						}
						alive = append(alive, w.start(fmt.Sprint("p", n), shards))
					case what < 6:
						i := pick(len(alive))
						p := alive[i]
						alive = append(alive[:i], alive[i+1:]...)
						if what == 5 {
							p.kill()
						} else {
							p.stop()
						}
					default: // It comes back, and may have lost its lease.
						p := alive[pick(len(alive))]
						p.setCut(true)
						w.pass(w.upTo(12 * time.Second))
						p.setCut(false)
					}
					w.pass(w.upTo(8 * time.Second))
				}
				for _, p := range alive {
					p.stop()
				}
				w.count = 8
				w.start("x", 8)
				w.start("y", 8)
				w.await("at the end", 30*time.Second, func(held string) bool { return isBalanced(held, 2) })
				w.endAll()
			})
		})
	}
}
