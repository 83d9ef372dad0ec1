package fakekubelet

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// loopWorkers is how many objects of a kind are looked after at once.
const loopWorkers = 4

// loop brings every changed object of one kind to a function, again and ever later if that fails.
type loop struct {
	kind  string
	queue workqueue.TypedRateLimitingInterface[cache.ObjectName]
	sync  func(context.Context, cache.ObjectName) error
}

func newLoop(kind string, informer cache.SharedIndexInformer, sync func(context.Context, cache.ObjectName) error) (*loop, error) {
	limiter := workqueue.DefaultTypedControllerRateLimiter[cache.ObjectName]()
	l := &loop{kind: kind, queue: workqueue.NewTypedRateLimitingQueue(limiter), sync: sync}
	add := func(object any) {
		if key, err := cache.ObjectToName(object); err == nil {
			l.queue.Add(key)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, changed any) { add(changed) },
	})
	if err != nil {
		return nil, fmt.Errorf("%s informer: %w", kind, err)
	}
	return l, nil
}

// run works until the context ends.
func (l *loop) run(ctx context.Context) {
	for range loopWorkers {
		go func() {
			for l.next(ctx) {
			}
		}()
	}
	<-ctx.Done()
	l.queue.ShutDown()
}

func (l *loop) next(ctx context.Context) bool {
	key, shutdown := l.queue.Get()
	if shutdown {
		return false
	}
	defer l.queue.Done(key)
	err := l.sync(ctx, key)
	switch {
	// A write that found the object changed or gone needs no second try: the change arrives as an event of its own.
	case err == nil, apierrors.IsConflict(err), apierrors.IsNotFound(err):
		l.queue.Forget(key)
	default:
		klog.ErrorS(err, "Stand-in for the kubelet failed", "kind", l.kind, "object", key)
		l.queue.AddRateLimited(key)
	}
	return true
}
