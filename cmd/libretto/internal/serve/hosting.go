package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/membership"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/definition/reports"
	"github.com/libretto-k8s/libretto/runtime/host"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// hosting is the job of a host: it runs the controllers of definitions. Before it leads, it fills the caches that these need. With shards,
// it runs them for each range of namespaces that this process holds, and fills no caches before.
type hosting struct {
	*server
	config  definition.Config // What all reconcilers have in common.
	clients *clients
	events  record.EventRecorder
	// Nil without shards.
	member  *membership.Member
	reports *reports.Store

	ctx     context.Context // Ends with the job.
	elected chan struct{}
	running sync.WaitGroup
	cleanup []func()

	mu          sync.Mutex
	reconcilers map[*definition.Reconciler]bool
}

// work hosts definitions until its context ends. Only who holds a lease calls it.
func (h *hosting) work() error {
	h.probes.setCheck(h.synced)
	close(h.elected)
	var err error
	if h.member != nil {
		h.probes.setWaits(h.member.Waits)
		reading, end := context.WithCancel(h.ctx)
		h.running.Go(func() { h.reports.Run(reading) })
		err = h.member.Run(h.ctx)
		end()
	}
	h.running.Wait()
	h.log.Info("libretto has stopped")
	return err
}

// close waits for what begin and work have started. The context of the job has ended.
func (h *hosting) close() {
	h.running.Wait()
	for _, f := range slices.Backward(h.cleanup) {
		f()
	}
}

// host hosts definitions for the namespaces of a range until ctx ends, once this process is elected. It returns when nothing of that works
// any more. The first range has the folder, too.
func (h *hosting) host(ctx context.Context, r shard.Range) {
	config := h.config
	config.Shard, config.Host = definition.Shard{Range: r, Reports: h.reports}, host.New(ctx)
	if !r.IsWhole() {
		config.Environment.Log = config.Environment.Log.WithValues("shard", r.String())
	}
	reconciler := definition.New(config)
	h.setRuns(reconciler, true)
	defer h.setRuns(reconciler, false)
	var applying sync.WaitGroup
	defer applying.Wait()
	if h.folder != nil && r.Index == 0 {
		applying.Go(func() {
			select {
			case <-h.elected:
				h.folder.Apply(ctx, h.clients.bounded, h.events)
			case <-ctx.Done():
			}
		})
	}
	reconciler.Run(ctx, h.elected)
}

func (h *hosting) setRuns(reconciler *definition.Reconciler, runs bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if runs {
		h.reconcilers[reconciler] = true
	} else {
		delete(h.reconcilers, reconciler)
	}
}

// synced returns an error until all definitions are listed.
func (h *hosting) synced() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	var errs []error
	for reconciler := range h.reconcilers {
		if err := reconciler.Synced(); err != nil && !slices.ContainsFunc(errs, func(e error) bool { return e.Error() == err.Error() }) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// newMember returns what takes ranges of namespaces, and has them hosted.
func (h *hosting) newMember(config *rest.Config, own *lease) (*membership.Member, error) {
	leases, err := coordinationclient.NewForConfig(rest.AddUserAgent(rest.CopyConfig(config), "shards"))
	if err != nil {
		return nil, fmt.Errorf("client for leases: %w", err)
	}
	o := h.options
	h.reports = reports.NewStore(h.clients.host.dynamic, ownNamespace(o.namespace), o.election.name, h.log.WithName("reports"))
	namespace := ownNamespace(o.election.namespace)
	return membership.New(membership.Config{
		Group: o.election.group(), Identity: own.Identity(), Leases: leases.Leases(namespace), MayWrite: own.held,
		Duration: o.election.times.duration, RetryPeriod: o.election.times.retryPeriod,
		Divide: h.divide, Host: h.host, Metrics: membership.NewMetrics(h.registry), Log: h.log.WithName("shards"),
		Waiting: func(lease *coordinationv1.Lease, reason string) {
			h.events.Event(lease, corev1.EventTypeWarning, "ShardsWait", reason)
		},
	}), nil
}

// divide returns ranges with about equally many of the namespaces that this host works in.
func (h *hosting) divide(ctx context.Context) []shard.Range {
	names := h.options.namespaces
	if len(names) == 0 {
		list, err := h.clients.host.metadata.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")).List(ctx, metav1.ListOptions{})
		if err != nil {
			h.log.Info("shards have equally many hashes of namespaces, and perhaps not equally many namespaces: these can't be listed",
				"error", err.Error())
			list = &metav1.PartialObjectMetadataList{}
		}
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	}
	return shard.Divide(names, h.options.election.shards)
}
