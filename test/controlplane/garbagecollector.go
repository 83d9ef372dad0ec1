package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

const (
	// discoveryPeriod is how long a new kind may stay unknown to the collector. Inside the controller manager this is
	// fixed at half a minute, which no test would wait for; therefore the collector is started here.
	discoveryPeriod  = time.Second
	collectorWorkers = 5
	collectorSync    = 10 * time.Second
)

// runGarbageCollector collects the dependents of deleted owners until the context ends.
func runGarbageCollector(ctx context.Context, config *rest.Config) error {
	config = rest.AddUserAgent(rest.CopyConfig(config), "generic-garbage-collector")
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("metadata client: %w", err)
	}
	// The mapper's discovery has to be another one than that of Sync, which would empty the mapper's cache each time.
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery()))
	factory := informerfactory.NewInformerFactory(
		informers.NewSharedInformerFactory(client, 0),
		metadatainformer.NewSharedInformerFactory(objects, 0),
	)
	started := make(chan struct{})
	close(started) // the collector starts its informers itself
	collector, err := garbagecollector.NewGarbageCollector(ctx, client, objects, mapper,
		garbagecollector.DefaultIgnoredResources(), factory, started)
	if err != nil {
		return fmt.Errorf("new: %w", err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("discovery client: %w", err)
	}
	go collector.Sync(ctx, discoverer, discoveryPeriod)
	collector.Run(ctx, collectorWorkers, collectorSync)
	return context.Cause(ctx)
}
