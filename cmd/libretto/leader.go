package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
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

// lead calls work. With leader election, it first waits until this process holds the lease. It returns
// when ctx ends, work returns or the lease is lost, but never before work has returned: only then is the
// lease released.
func lead(ctx context.Context, config *rest.Config, o *options, log logr.Logger, work func(context.Context) error) error {
	if !o.leaderElect {
		return work(ctx)
	}
	lock, err := newLock(config, o)
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	var leading atomic.Bool
	done := make(chan struct{})
	electing, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	context.AfterFunc(ctx, func() {
		if !leading.Load() {
			stop(context.Cause(ctx))
		}
	})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second,
		ReleaseOnCancel: true, Name: o.leaseName,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(led context.Context) {
				leading.Store(true)
				defer close(done)
				working, end := context.WithCancel(led)
				defer context.AfterFunc(ctx, end)()
				stop(work(working))
			},
			OnStoppedLeading: func() { log.Info("no longer leading", "lease", o.leaseName) },
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	elector.Run(electing)
	if electing.Err() == nil {
		<-done
		return errors.New("leader election: the lease was lost: another process has it")
	}
	return context.Cause(electing)
}

func newLock(config *rest.Config, o *options) (resourcelock.Interface, error) {
	namespace := ownNamespace(o.leaseNamespace)
	host, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	identity := resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("%s_%d", host, os.Getpid())}
	return resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, o.leaseName, identity, config, 10*time.Second)
}
