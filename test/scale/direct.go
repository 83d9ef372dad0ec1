package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
)

// The roles of this binary.
const (
	directRole = "__direct"
	listRole   = "__list"
)

// directAgent is the user agent of both.
const directAgent = "libretto-scale-direct"

func directConfig() (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	config.QPS = -1
	config.UserAgent = directAgent
	return config, nil
}

// direct writes children and status of parents as a host does, and decides nothing: it knows what there is to write from the spec, compares
// nothing, and writes whenever the generation is another than that it has written.
type direct struct {
	client     dynamic.Interface
	writes     int
	serverSide bool
	queue      workqueue.TypedInterface[string]
	parents    cache.Indexer

	mu      sync.Mutex
	written map[string]int64 // The generation, by key.
}

// runDirect serves until it gets a signal.
func runDirect(args []string) error {
	flags := flag.NewFlagSet(directRole, flag.ContinueOnError)
	strategy := flags.String("apply", applyDynamic, "")
	workers := flags.Int("workers", 1, "")
	writes := flags.Int("writes", 1, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	config, err := directConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	d := &direct{
		client: client, writes: *writes, serverSide: *strategy == applyServerSide,
		queue: workqueue.NewTyped[string](), written: map[string]int64{},
	}
	if err := d.watch(ctx); err != nil {
		return err
	}
	var running sync.WaitGroup
	for range *workers {
		running.Go(func() { d.work(ctx) })
	}
	<-ctx.Done()
	d.queue.ShutDown()
	running.Wait()
	return nil
}

// watch keeps the parents and the children in caches, as a host does.
func (d *direct) watch(ctx context.Context) error {
	children := dynamicinformer.NewFilteredDynamicInformer(d.client, configMaps, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	informer := dynamicinformer.NewFilteredDynamicInformer(d.client, parents, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	d.parents = informer.GetIndexer()
	enqueue := func(object any) {
		if key, err := cache.MetaNamespaceKeyFunc(object); err == nil {
			d.queue.Add(key)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    enqueue,
		UpdateFunc: func(_, object any) { enqueue(object) },
	})
	if err != nil {
		return err
	}
	go children.RunWithContext(ctx)
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), children.HasSynced, informer.HasSynced) {
		return ctx.Err()
	}
	return nil
}

func (d *direct) work(ctx context.Context) {
	for {
		key, end := d.queue.Get()
		if end {
			return
		}
		if err := d.write(ctx, key); err != nil && ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", key, err)
		}
		d.queue.Done(key)
	}
}

// write writes the children and the status of a parent, if its generation is another than the last time.
func (d *direct) write(ctx context.Context, key string) error {
	object, there, err := d.parents.GetByKey(key)
	if err != nil || !there {
		return err
	}
	parent := object.(*unstructured.Unstructured)
	d.mu.Lock()
	before := d.written[key]
	d.written[key] = parent.GetGeneration()
	d.mu.Unlock()
	if before == parent.GetGeneration() {
		return nil
	}
	names, _, err := unstructured.NestedStringSlice(parent.Object, "spec", "children")
	if err != nil {
		return err
	}
	payload, _, err := unstructured.NestedString(parent.Object, "spec", "payload")
	if err != nil {
		return err
	}
	writes, child := errgroup.WithContext(ctx)
	writes.SetLimit(d.writes)
	for _, name := range names {
		writes.Go(func() error { return d.writeChild(child, parent, name, payload, before == 0) })
	}
	if err := writes.Wait(); err != nil {
		return err
	}
	return d.writeStatus(ctx, parent, len(names))
}

func (d *direct) writeChild(ctx context.Context, parent *unstructured.Unstructured, name, payload string, isNew bool) error {
	object := &unstructured.Unstructured{Object: child(parent.GetName(), name, payload)}
	var applied []byte
	if !d.serverSide {
		var err error
		if applied, err = json.Marshal(object.Object); err != nil {
			return err
		}
		object.SetAnnotations(map[string]string{lastApplied: string(applied)})
	}
	object.SetNamespace(parent.GetNamespace())
	object.SetLabels(map[string]string{controllerUIDLabel: string(parent.GetUID())})
	object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, parent.GroupVersionKind())})
	client := d.client.Resource(configMaps).Namespace(parent.GetNamespace())
	var err error
	switch {
	case d.serverSide:
		_, err = client.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: directAgent, Force: true})
	case isNew:
		_, err = client.Create(ctx, object, metav1.CreateOptions{})
	default:
		_, err = client.Update(ctx, object, metav1.UpdateOptions{})
	}
	return err
}

// writeStatus writes the version that the cache has: nobody changes a parent while its children are written.
func (d *direct) writeStatus(ctx context.Context, parent *unstructured.Unstructured, children int) error {
	parent = parent.DeepCopy()
	parent.Object["status"] = map[string]any{"children": int64(children), "observedGeneration": parent.GetGeneration()}
	_, err := d.client.Resource(parents).Namespace(parent.GetNamespace()).UpdateStatus(ctx, parent, metav1.UpdateOptions{})
	return err
}

// listing is what a program that only lists all objects needed.
type listing struct {
	Wall, CPU float64 // Seconds.
	Peak      int64   // Bytes.
	Objects   int
}

// runList lists what a host has in its caches, with a client of Go's, and prints what that took.
func runList([]string) error {
	config, err := directConfig()
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	begin := time.Now()
	lists := make([]*unstructured.UnstructuredList, 2)
	requests, ctx := errgroup.WithContext(context.Background())
	for i, resource := range []schema.GroupVersionResource{parents, configMaps} {
		requests.Go(func() (err error) {
			// The version has the API server answer from its cache, as it answers informers.
			lists[i], err = client.Resource(resource).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
			return err
		})
	}
	if err := requests.Wait(); err != nil {
		return err
	}
	l := listing{Wall: time.Since(begin).Seconds(), Objects: len(lists[0].Items) + len(lists[1].Items)}
	var own unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err != nil {
		return err
	}
	l.CPU = time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
	l.Peak = own.Maxrss << 10
	return json.NewEncoder(os.Stdout).Encode(l)
}
