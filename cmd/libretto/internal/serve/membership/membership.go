// Package membership has the replicas of a host share the work: Leases say which of them holds which range of namespaces.
//
// Each replica, a member of the group, renews a lease of its own. The leases of ranges are not renewed: a range is held as long as its
// holder has its own lease. A lease says which ranges there are. Each change is an update of the version that was seen, so that what a
// member knows may be old.
package membership

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"

	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// Config is what a member is made of.
type Config struct {
	Group
	Identity string
	// Leases are those of the host's namespace. Writes are refused once MayWrite is false: then this member may have lost its own lease,
	// which somebody else renews.
	Leases   coordinationclient.LeaseInterface
	MayWrite func() bool
	// Duration is that of leases, and RetryPeriod how often what failed is tried again.
	Duration, RetryPeriod time.Duration
	// Divide returns ranges that have about equally much to do.
	Divide func(context.Context) []shard.Range
	// Host hosts a range until the context ends, and returns when nothing of it works any more.
	Host func(context.Context, shard.Range)
	// Waiting is told why this member, of that lease, takes no range.
	Waiting func(own *coordinationv1.Lease, reason string)
	Metrics *Metrics
	Log     logr.Logger
}

// Metrics say which ranges a process holds.
type Metrics struct{ held *prometheus.GaugeVec }

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "libretto_shard_held", Help: "1 if this process holds the range of namespaces, of --shards, and 0 if another one does.",
	}, []string{"shard"})}
	registry.MustRegister(m.held)
	return m
}

// Member is a process that shares ranges with others.
type Member struct {
	Config
	wake chan struct{}

	mu     sync.Mutex
	leases observations
	own    own
	ends   map[int]context.CancelFunc // Of what hosts ranges.
	fixed  string                     // The ranges, since it holds one.
	waits  string
	// unsharded is looked at before the first range is taken.
	unsharded Unsharded
}

// New returns a member that holds nothing.
func New(config Config) *Member {
	return &Member{
		Config: config, wake: make(chan struct{}, 1), leases: observations{}, ends: map[int]context.CancelFunc{},
		own:       own{identity: config.Identity, duration: config.Duration, phases: map[int]phase{}},
		unsharded: Unsharded{Leases: config.Leases, Name: config.Name, Now: time.Now},
	}
}

// Waits returns why this member takes no range, or "".
func (m *Member) Waits() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waits
}

// Run takes ranges, and hosts them, until ctx ends and all are given up. It returns an error if it can't go on before. The member has its
// own lease.
func (m *Member) Run(ctx context.Context) error {
	requests, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	if _, err := m.Leases.List(ctx, metav1.ListOptions{LabelSelector: m.selector()}); apierrors.IsForbidden(err) {
		return fmt.Errorf("--shards needs a rule {apiGroups: [coordination.k8s.io], resources: [leases], "+
			"verbs: [get, list, watch, create, update, delete]} in the host's namespace: %w", err)
	}
	synced, err := m.watch(requests)
	if err != nil || !cache.WaitForCacheSync(ctx.Done(), synced) {
		return err
	}
	hosting, stop := context.WithCancel(ctx)
	defer m.wait()
	defer stop()
	done := ctx.Done()
	for {
		now := time.Now()
		m.mu.Lock()
		d := m.decide(m.leases, m.own, now)
		m.mu.Unlock()
		if d.done || m.own.draining && !m.MayWrite() {
			return nil
		}
		if d.lost >= 0 {
			return fmt.Errorf("shard %d is held by another process: somebody has edited the lease %s", d.lost, m.rangeName(d.lost))
		}
		failed, err := m.act(requests, hosting, d)
		if err != nil {
			return err
		}
		next := m.RetryPeriod
		if !failed && !d.next.IsZero() {
			next = min(next, d.next.Sub(now))
		}
		timer := time.NewTimer(max(next, time.Millisecond))
		select {
		case <-m.wake:
		case <-timer.C:
		case <-done:
			done = nil
			m.drain(requests)
		}
		timer.Stop()
	}
}

// watch follows the leases of the group until ctx ends. Synced reports whether all are known.
func (m *Member) watch(ctx context.Context) (synced cache.InformerSynced, err error) {
	options := func(o metav1.ListOptions) metav1.ListOptions {
		o.LabelSelector = m.selector()
		return o
	}
	informer := cache.NewSharedInformer(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return m.Leases.List(ctx, options(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return m.Leases.Watch(ctx, options(o))
		},
	}, &coordinationv1.Lease{}, 0)
	seen, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: m.observe, UpdateFunc: func(_, after any) { m.observe(after) },
		DeleteFunc: func(obj any) {
			if tombstone, is := obj.(cache.DeletedFinalStateUnknown); is {
				obj = tombstone.Obj
			}
			if lease, is := obj.(*coordinationv1.Lease); is {
				m.note(func() { m.leases.delete(lease, time.Now()) })
			}
		},
	})
	if err == nil {
		err = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) {
			m.Log.V(1).Info("leases of replicas are followed later", "error", err.Error())
		})
	}
	if err != nil {
		return nil, err
	}
	go informer.RunWithContext(ctx)
	return seen.HasSynced, nil
}

func (m *Member) observe(obj any) {
	if lease, is := obj.(*coordinationv1.Lease); is {
		m.note(func() { m.leases.set(lease, time.Now()) })
	}
}

// note changes what this member knows, and has it decide again.
func (m *Member) note(change func()) {
	m.mu.Lock()
	change()
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
}

// drain has this member take no more ranges. What hosts those that it has ends with the context that has ended.
func (m *Member) drain(ctx context.Context) {
	m.note(func() {
		m.own.draining = true
		for i, phase := range m.own.phases {
			if phase == running {
				m.own.phases[i] = stopping
			}
		}
	})
	if err := m.setState(ctx, stateDraining); err != nil { // Others wait until it has ended.
		m.Log.V(1).Info("other replicas do not know that this one ends", "error", err.Error())
	}
}

// wait waits until nothing hosts a range any more.
func (m *Member) wait() {
	for ; ; <-m.wake {
		m.mu.Lock()
		left := 0
		for _, phase := range m.own.phases {
			if phase != stopped {
				left++
			}
		}
		m.mu.Unlock()
		if left == 0 {
			return
		}
	}
}

// act does what was decided. It reports whether something failed, which is tried again, and returns an error if nothing helps.
func (m *Member) act(ctx, hosting context.Context, d decision) (failed bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, m.Duration)
	defer cancel()
	var errs []error
	for _, lease := range d.expired {
		m.Log.Info("a replica has not renewed its lease, and loses it", "replica", holderOf(lease))
		errs = append(errs, m.write(ctx, released(lease)))
	}
	for _, lease := range d.remove {
		at := metav1.Preconditions{ResourceVersion: &lease.ResourceVersion}
		errs = append(errs, m.Leases.Delete(ctx, lease.Name, metav1.DeleteOptions{Preconditions: &at}))
	}
	if d.ready {
		waits, err := m.begin(ctx)
		errs, d.waits = append(errs, err), waits
	}
	m.sayWaits(d.waits)
	if d.divide {
		m.Log.Info("dividing the namespaces", "shards", m.Count)
		errs = append(errs, m.write(ctx, m.partition(d.partition, m.Divide(ctx))))
	}
	if d.ranges != nil {
		if err := m.fix(d); err != nil {
			return false, err
		}
	}
	for _, i := range d.start {
		m.start(hosting, d.ranges[i])
	}
	for _, i := range d.stop {
		m.Log.Info("giving up a shard", "shard", d.ranges[i].String())
		m.note(func() { m.own.phases[i] = stopping; m.ends[i]() })
	}
	for _, i := range d.take {
		errs = append(errs, m.write(ctx, m.held(d.shards[i], i, m.Identity, time.Now())))
	}
	for _, i := range d.free {
		errs = append(errs, m.write(ctx, m.held(d.shards[i], i, "", time.Now())))
	}
	for _, i := range d.forget {
		m.note(func() { delete(m.own.phases, i) })
	}
	err = errors.Join(errs...)
	if err != nil {
		m.Log.V(1).Info("leases of shards are written later", "error", err.Error())
	}
	return err != nil, nil
}

// begin says that this member takes ranges, unless an unsharded host works. Then it returns why it waits.
func (m *Member) begin(ctx context.Context) (waits string, err error) {
	holder, err := m.unsharded.FindHolder(ctx)
	if err == nil && holder != "" {
		return fmt.Sprintf("%s holds the lease %s, and works without --shards: this process works once it is gone", holder, m.Name), nil
	}
	if err == nil {
		err = m.setState(ctx, stateReady)
	}
	return "", err
}

// setState says what this member does.
func (m *Member) setState(ctx context.Context, state string) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error { // It is renewed all the time.
		lease, err := m.Leases.Get(ctx, m.memberName(m.Identity), metav1.GetOptions{})
		if err != nil {
			return err
		}
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, stateAnnotation, state)
		written, err := m.Leases.Update(ctx, lease, metav1.UpdateOptions{})
		if err == nil {
			m.note(func() { m.leases.set(written, time.Now()) })
		}
		return err
	})
}

// sayWaits logs why no range is taken, once.
func (m *Member) sayWaits(reason string) {
	m.mu.Lock()
	before := m.waits
	m.waits = reason
	m.mu.Unlock()
	if reason != "" && reason != before {
		m.Log.Info("waiting, and ready to take over", "reason", reason)
		if lease := m.find(m.memberName(m.Identity)); lease != nil {
			m.Waiting(lease, reason)
		}
	}
}

// fix notes the ranges by which this member works. It returns an error if they are others than those that it works by.
func (m *Member) fix(d decision) error {
	text := shard.Format(d.ranges)
	m.mu.Lock()
	holding := len(m.own.phases) > 0
	m.mu.Unlock()
	if m.fixed != text && m.fixed != "" && holding {
		return fmt.Errorf("the ranges of the shards that this process holds have been changed: somebody has edited the lease %s", m.partitionName())
	}
	m.fixed = text
	for i := range d.ranges {
		m.gauge(i).Add(0) // It exists, also where another one holds it.
	}
	return nil
}

func (m *Member) gauge(index int) prometheus.Gauge {
	return m.Metrics.held.WithLabelValues(strconv.Itoa(index))
}

// start hosts a range.
func (m *Member) start(ctx context.Context, r shard.Range) {
	ctx, end := context.WithCancel(ctx)
	m.mu.Lock()
	m.own.phases[r.Index], m.ends[r.Index] = running, end
	m.mu.Unlock()
	m.Log.Info("taking a shard", "shard", r.String())
	go func() {
		held := m.gauge(r.Index)
		held.Set(1)
		m.Host(ctx, r)
		held.Set(0)
		end()
		m.note(func() { m.own.phases[r.Index] = stopped })
	}()
}

// find returns a lease, or nil.
func (m *Member) find(name string) *coordinationv1.Lease {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.leases[name].lease
}

// write creates or updates a lease, if it still is as it was seen.
func (m *Member) write(ctx context.Context, lease *coordinationv1.Lease) error {
	write := func() (*coordinationv1.Lease, error) { return m.Leases.Update(ctx, lease, metav1.UpdateOptions{}) }
	if lease.ResourceVersion == "" {
		write = func() (*coordinationv1.Lease, error) { return m.Leases.Create(ctx, lease, metav1.CreateOptions{}) }
	}
	written, err := write()
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err): // Somebody was faster: there is an event.
		return nil
	case err == nil:
		m.note(func() { m.leases.set(written, time.Now()) })
	}
	return err
}
