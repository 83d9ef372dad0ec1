package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/membership"
)

// namespaceFile holds the namespace of a process in a cluster.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// ownNamespace returns the given namespace if it is set, else that of the process, and outside of a
// cluster "default".
func ownNamespace(given string) string {
	if given != "" {
		return given
	}
	if own, err := os.ReadFile(namespaceFile); err == nil {
		return strings.TrimSpace(string(own))
	}
	return "default"
}

// job is what works while this process leads. It begins before, by what needs no write.
type job interface {
	// work works until the context ends that the job was begun with.
	work() error
	// close ends what has begun, and waits for it. That context has ended.
	close()
}

// beginner begins a job with a config for its clients, and the lease without which they write nothing, or nil.
type beginner func(context.Context, *rest.Config, *lease) (job, error)

// lead begins a job with a config for its clients, and has it work. With leader election, it works once this process holds the lease, and
// the clients send writes only while it does. It returns when ctx ends, the work returns or the lease is lost, but never before the work
// has returned: only then is the lease released. With shards, each process has a lease of its own.
func lead(
	ctx context.Context, config *rest.Config, o *election, build cli.Build, log logr.Logger, begin beginner,
) error {
	if !o.on {
		return run(ctx, config, nil, begin, job.work)
	}
	electing, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	lock, err := newLock(config, o, build, stop)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	context.AfterFunc(ctx, func() {
		if !lock.led.Load() {
			stop(context.Cause(ctx))
		}
	})
	working, end := context.WithCancel(electing)
	defer end()
	defer context.AfterFunc(ctx, end)()
	return run(working, lock.guard(config), lock, begin, func(j job) error {
		err := elect(working, electing, stop, lock, o, log, j)
		if lock.own && (err == nil || errors.Is(err, context.Canceled)) {
			lock.remove(context.WithoutCancel(ctx), log)
		}
		return err
	})
}

// run begins a job and calls do with it. It ends the job, and waits for that.
func run(ctx context.Context, config *rest.Config, lock *lease, begin beginner, do func(job) error) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	j, err := begin(ctx, config, lock)
	if err != nil {
		return err
	}
	defer j.close()
	defer end()
	return do(j)
}

// elect has a job work while this process leads, once no replica with shards works. It returns when working ends or, as stop ends it, ctx,
// and the work has returned.
func elect(working, ctx context.Context, stop context.CancelCauseFunc, lock *lease, o *election, log logr.Logger, j job) error {
	for lock.awaitUnsharded(working, log) {
		if worked, err := stand(ctx, stop, lock, o, log, j); worked || err != nil {
			return cmp.Or(err, context.Cause(ctx))
		}
	}
	return cmp.Or(context.Cause(ctx), context.Cause(working))
}

// stand has one elector try to take the lease. It reports whether the job has worked.
func stand(ctx context.Context, stop context.CancelCauseFunc, lock *lease, o *election, log logr.Logger, j job) (worked bool, err error) {
	trying, again := context.WithCancel(ctx)
	defer again()
	done := make(chan bool, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: o.times.duration, RenewDeadline: o.times.renewDeadline, RetryPeriod: o.times.retryPeriod,
		ReleaseOnCancel: true, Name: lock.name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				if !lock.isUnsharded(leading) {
					lock.ended.Store(true) // Nothing of it has begun.
					again()
					done <- false
					return
				}
				err := j.work()
				lock.ended.Store(true)
				stop(err)
				done <- true
			},
			OnStoppedLeading: func() {
				lock.lose("it could not be renewed in time, and another process may have it")
				if lock.led.Load() {
					log.Info("no longer leading", "lease", lock.name)
				}
			},
		},
	})
	if err != nil {
		return false, fmt.Errorf("leader election: %w", err)
	}
	go lock.awaitRelease(trying, log, again) // Another elector tries at once.
	elector.Run(trying)
	if !lock.led.Load() {
		return false, nil
	}
	if worked = <-done; !worked {
		lock.led.Store(false)
		lock.ended.Store(false)
	}
	return worked, nil
}

// newLock returns the lease, whose labels say what holds it. It calls onLost when this process led and does not any more.
func newLock(config *rest.Config, o *election, build cli.Build, onLost func(error)) (*lease, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	// Neither names of hosts nor process IDs are unique: in containers both repeat.
	unique, namespace := string(uuid.NewUUID()), ownNamespace(o.namespace)
	name, labels, identity := o.name, cli.LeaseLabels(build, unique), host+"_"+unique
	if o.isSharded() {
		own, of := o.group().Member(identity)
		name = own
		maps.Copy(labels, of)
	}
	own := rest.AddUserAgent(rest.CopyConfig(config), "leader-election")
	own.Timeout = o.times.renewDeadline / 2 // No single request may cost the lease.
	client, err := coordinationv1.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	own.Timeout = 0
	watching, err := coordinationv1.NewForConfig(own)
	if err != nil {
		return nil, err
	}
	lock := &resourcelock.LeaseLock{
		LeaseMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Client: client, Labels: labels,
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	held := newLease(lock, lock.Describe(), o.times.writesFor(), time.Now, onLost)
	held.own, held.leases, held.retryPeriod = o.isSharded(), client.Leases(namespace), o.times.retryPeriod
	if !held.own {
		held.unsharded = &membership.Unsharded{Leases: held.leases, Name: name, Now: time.Now}
	}
	held.watch = func(ctx context.Context) (watch.Interface, error) {
		byName := fields.OneTermEqualSelector("metadata.name", name).String()
		return watching.Leases(namespace).Watch(ctx, metav1.ListOptions{FieldSelector: byName})
	}
	return held, nil
}
