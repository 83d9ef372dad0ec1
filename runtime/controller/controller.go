// Package controller runs one control loop: a queue of keys, workers that take
// them, and the decision when a key is looked at again.
//
// Equal keys merge while they wait, a key is never reconciled twice at once, and
// fresh events overtake resyncs and retries. A Controller can be started and
// stopped at any time, as often as definitions come and go.
package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// Key names the object to reconcile.
type Key struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// String gives "Kind namespace/name", or "Kind name" for a cluster-scoped object.
func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind.Kind + " " + k.Name
	}
	return k.Kind.Kind + " " + k.Namespace + "/" + k.Name
}

// Result says when a key wants to be reconciled again.
type Result struct {
	// RequeueAfter is the time until the next pass; zero means at the next
	// event. Beside ErrLater it is the time until the retry; beside any other
	// error the retry comes no later, but for a second that it has at least.
	RequeueAfter time.Duration
	// Retry is the kind of failure, and looked at beside an error alone.
	Retry Retry
}

// Reconciler makes one pass over one key. It is called by several workers at
// once, never twice at once for one key, and again with growing delay as long
// as it returns an error: how long is a matter of Result.Retry.
type Reconciler interface {
	Reconcile(ctx context.Context, key Key) (Result, error)
}

// ErrLater is for a pass that could not finish for a reason that passes by
// itself, such as a write that met a newer version. It is retried with backoff
// and is neither logged nor counted as an error.
var ErrLater = errors.New("to be tried again")

// Config is what a Controller is made of.
type Config struct {
	// Name tells this loop from others in logs and metrics.
	Name       string
	Reconciler Reconciler
	// Workers is the number of keys that are reconciled at once; at least one.
	Workers int
	// Backoff delays retries of failures of no known kind: Min after the first
	// error, doubling up to Max. Zero values mean those of the table of retries.
	Backoff Backoff
	Clock   clock.WithTicker
	Log     logr.Logger
	Metrics *Metrics
}

// Controller is one control loop.
type Controller struct {
	config   Config
	queue    workqueue.TypedDelayingInterface[Key]
	lanes    *lanes
	failures *failures
}

// New makes a controller, which does nothing until Run.
func New(config Config) *Controller {
	config.Backoff.Min = cmp.Or(config.Backoff.Min, backoffs[Unknown].Min)
	config.Backoff.Max = cmp.Or(config.Backoff.Max, backoffs[Unknown].Max)
	config.Workers = max(config.Workers, 1)
	l := newLanes()
	provider := config.Metrics.queues()
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{
		Name: config.Name, Clock: config.Clock, Queue: l, MetricsProvider: provider,
	})
	return &Controller{
		config:   config,
		lanes:    l,
		failures: newFailures(config.Backoff),
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{
			Name: config.Name, Clock: config.Clock, Queue: queue, MetricsProvider: provider,
		}),
	}
}

// Enqueue asks for a pass over key because of an event. It never blocks.
func (c *Controller) Enqueue(key Key) {
	c.lanes.markFresh(key)
	c.queue.Add(key)
}

// EnqueueSoon asks for a pass over key because of an event of which more may
// follow: those that come within d cost one pass together.
func (c *Controller) EnqueueSoon(key Key, d time.Duration) {
	c.lanes.markFresh(key)
	c.queue.AddAfter(key, d)
}

// EnqueueAfter asks for a pass over key after d, behind whatever fresh events
// there are then. Of several such wishes for one key the earliest counts.
func (c *Controller) EnqueueAfter(key Key, d time.Duration) { c.queue.AddAfter(key, d) }

// Close ends a controller that Run was never called on. It may be called more
// than once, and after Run.
func (c *Controller) Close() { c.queue.ShutDown() }

// Run works until ctx ends, then lets the passes that are under way end and
// returns. It may be called once.
func (c *Controller) Run(ctx context.Context) {
	var workers sync.WaitGroup
	for range c.config.Workers {
		workers.Go(func() {
			for c.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
}

// next makes one pass. It gives false when the queue is closed.
func (c *Controller) next(ctx context.Context) bool {
	key, closed := c.queue.Get()
	if closed {
		return false
	}
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		return true
	}
	start := c.config.Clock.Now()
	result, err := c.reconcile(ctx, key)
	c.config.Metrics.observe(c.config.Name, outcome(err), c.config.Clock.Since(start))
	c.schedule(ctx, key, result, err)
	return true
}

// schedule decides when key is looked at again.
func (c *Controller) schedule(ctx context.Context, key Key, result Result, err error) {
	if err == nil {
		c.failures.forget(key)
		if result.RequeueAfter > 0 {
			c.queue.AddAfter(key, result.RequeueAfter)
		}
		return
	}
	delay, failures := c.failures.add(key, retryOf(result, err))
	later := errors.Is(err, ErrLater)
	if ctx.Err() == nil && (!later || failures > patience) {
		c.config.Log.Error(err, "reconcile failed", "key", key.String(), "failures", failures)
	}
	switch {
	case result.RequeueAfter > 0 && later:
		delay = result.RequeueAfter
	case result.RequeueAfter > 0:
		delay = min(delay, max(result.RequeueAfter, time.Second))
	}
	c.queue.AddAfter(key, delay)
}

// patience is how many times in a row a pass may be put off before that is logged.
const patience = 10

// reconcile turns a panic into an error, so that one object can't stop the process.
func (c *Controller) reconcile(ctx context.Context, key Key) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", key, p, debug.Stack())
		}
	}()
	return c.config.Reconciler.Reconcile(ctx, key)
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "success"
	case errors.Is(err, ErrLater):
		return "later"
	default:
		return "error"
	}
}
