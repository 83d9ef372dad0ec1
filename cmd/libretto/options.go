package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
)

// options are the flags of serve, under the names that Kubernetes' components use.
type options struct {
	kubeconfig        string
	kubeAPIQPS        float32
	kubeAPIBurst      int
	metricsAddress    string
	probeAddress      string
	workers           int
	concurrentWrites  int
	concurrentCalls   int
	discoveryInterval time.Duration
	reloadSpread      time.Duration
	eventsQPS         float32
	eventsBurst       int
	leaderElect       bool
	leaseName         string
	leaseNamespace    string
	namespace         string
	targetSelector    string
	loggingFormat     string
	verbosity         int
}

func defaultOptions() *options {
	return &options{
		kubeAPIQPS: 200, kubeAPIBurst: 400,
		metricsAddress: ":9999", probeAddress: ":8081",
		workers: 5, concurrentWrites: 8, concurrentCalls: 8,
		discoveryInterval: 30 * time.Second, reloadSpread: 10 * time.Millisecond,
		eventsQPS: 1. / 300, eventsBurst: 25,
		leaseName: "metacontroller", loggingFormat: "json",
	}
}

func (o *options) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "kubeconfig file of the cluster (default $KUBECONFIG, else the cluster around the process)")
	f.Float32Var(&o.kubeAPIQPS, "kube-api-qps", o.kubeAPIQPS, "requests a second to the API server, on average; negative means no limit")
	f.IntVar(&o.kubeAPIBurst, "kube-api-burst", o.kubeAPIBurst, "requests to the API server at once")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress, "where /metrics is served; 0 means nowhere")
	f.StringVar(&o.probeAddress, "health-probe-bind-address", o.probeAddress, "where /healthz and /readyz are served; 0 means nowhere")
	f.IntVar(&o.workers, "workers", o.workers, "parents of one definition that are reconciled at once")
	f.IntVar(&o.concurrentWrites, "concurrent-writes", o.concurrentWrites, "writes for one parent that are under way at once")
	f.IntVar(&o.concurrentCalls, "concurrent-calls", o.concurrentCalls, "hook calls for one parent that are under way at once")
	f.DurationVar(&o.discoveryInterval, "discovery-interval", o.discoveryInterval, "how often resources that no CustomResourceDefinition defines are looked for")
	f.DurationVar(&o.reloadSpread, "reload-spread", o.reloadSpread, "time between two parents that are synced again because a script changed")
	f.Float32Var(&o.eventsQPS, "events-qps", o.eventsQPS, "events a second about one object, on average")
	f.IntVar(&o.eventsBurst, "events-burst", o.eventsBurst, "events about one object at once")
	f.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "of several processes let only the one that holds the lease work")
	f.StringVar(&o.leaseName, "leader-elect-resource-name", o.leaseName, "name of the lease")
	f.StringVar(&o.leaseNamespace, "leader-elect-resource-namespace", o.leaseNamespace, "namespace of the lease (default that of the process)")
	f.StringVar(&o.namespace, "namespace", o.namespace, "where the ControllerRevisions of cluster-scoped parents are kept (default that of the process, else default)")
	f.StringVar(&o.targetSelector, "target-label-selector", o.targetSelector, "host only the definitions whose labels match")
	f.StringVar(&o.loggingFormat, "logging-format", o.loggingFormat, "json or console")
	f.IntVarP(&o.verbosity, "v", "v", o.verbosity, "how much is logged: 0 starts, stops and writes, 1 decisions and what scripts print, more for client-go's own")
}

// check says which flag has a value that can't work.
func (o *options) check() error {
	for name, value := range map[string]int64{
		"workers": int64(o.workers), "concurrent-writes": int64(o.concurrentWrites), "concurrent-calls": int64(o.concurrentCalls),
		"discovery-interval": int64(o.discoveryInterval), "kube-api-burst": int64(o.kubeAPIBurst), "events-burst": int64(o.eventsBurst),
	} {
		if value <= 0 {
			return fmt.Errorf("--%s must be more than 0", name)
		}
	}
	if _, err := labels.Parse(o.targetSelector); err != nil {
		return fmt.Errorf("--target-label-selector: %w", err)
	}
	if o.reloadSpread < 0 {
		return errors.New("--reload-spread must not be negative")
	}
	return nil
}
