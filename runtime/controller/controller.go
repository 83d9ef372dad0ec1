// Package controller runs one control loop: a work queue of keys, workers that process them, and the
// decision when a key is reconciled again.
//
// Equal keys merge while they wait. A key is never reconciled twice at once. Keys with new events go
// before resyncs and retries. A Controller can be started and stopped at any time.
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
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

// Key names the object to reconcile.
type Key = objectkey.Key

// Result says when to reconcile a key again.
type Result struct {
	// RequeueAfter is the time until the next reconcile; zero means at the next event. Together with
	// ErrLater it is the time until the retry. Together with any other error the retry comes no later
	// than that, but not within a second.
	RequeueAfter time.Duration
	// Retry is the kind of the failure. It is ignored without an error.
	Retry Retry
	// Unfinished is set if the reconcile ended early because it waits for something. Without an error it counts neither as a success
	// nor as a failure: the backoff goes on where it was.
	Unfinished bool
}

// Reconciler reconciles one key. It is called by several workers at once, but never twice at once for
// one key. It is called again with increasing delay as long as it returns an error; Result.Retry says
// with which backoff.
type Reconciler interface {
	Reconcile(ctx context.Context, key Key) (Result, error)
}

// ErrLater is for a reconcile that could not finish for a transient reason, such as a write conflict. It
// is retried with backoff, and is neither logged nor counted as an error.
var ErrLater = errors.New("to be tried again")

// Config configures a Controller.
type Config struct {
	// Name identifies this loop in logs and metrics.
	Name       string
	Reconciler Reconciler
	// Workers is the number of keys that are reconciled at once. It is at least one.
	Workers int
	// Backoff delays retries of failures of unknown kind: Min after the first error, doubling up to Max.
	// It defaults to 5 ms and 1000 s, the row Unknown of the table of retries.
	Backoff Backoff
	Clock   clock.WithTicker
	Log     logr.Logger
	// FailureDetails returns what the log has of a failure besides its message, as keys and values. It may be nil.
	FailureDetails func(error) []any
	Metrics        *Metrics
}

// Controller is one control loop.
type Controller struct {
	config   Config
	queue    workqueue.TypedDelayingInterface[Key]
	priority *priorityQueue
	failures *failures
	log      *failureLog
}

// New returns a Controller. It does nothing until Run is called.
func New(config Config) *Controller {
	config.Backoff.Min = cmp.Or(config.Backoff.Min, backoffs[Unknown].Min)
	config.Backoff.Max = cmp.Or(config.Backoff.Max, backoffs[Unknown].Max)
	config.Workers = max(config.Workers, 1)
	priority := newPriorityQueue()
	provider := config.Metrics.queues()
	queue := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{
		Name: config.Name, Clock: config.Clock, Queue: priority, MetricsProvider: provider,
	})
	return &Controller{
		config:   config,
		priority: priority,
		failures: newFailures(config.Backoff),
		log:      newFailureLog(config),
		queue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{
			Name: config.Name, Clock: config.Clock, Queue: queue, MetricsProvider: provider,
		}),
	}
}

// Enqueue requests a reconcile of key because of an event. It never blocks.
func (c *Controller) Enqueue(key Key) {
	c.priority.markFresh(key)
	c.queue.Add(key)
}

// EnqueueSoon requests a reconcile of key in d because of an event. Further events within d are merged.
func (c *Controller) EnqueueSoon(key Key, d time.Duration) {
	c.priority.markFresh(key)
	c.queue.AddAfter(key, d)
}

// EnqueueAfter requests a reconcile of key in d, behind keys with new events. Of several requests for
// one key the earliest counts.
func (c *Controller) EnqueueAfter(key Key, d time.Duration) { c.queue.AddAfter(key, d) }

// Close shuts down a controller that was never run. It may be called more than once, and after Run.
func (c *Controller) Close() { c.queue.ShutDown() }

// Run processes keys until ctx ends, and returns when the running reconciles have ended. It may be
// called once.
func (c *Controller) Run(ctx context.Context) {
	c.config.Metrics.begin(c.config.Name)
	var workers sync.WaitGroup
	workers.Go(func() { c.logFailures(ctx) })
	for range c.config.Workers {
		workers.Go(func() {
			for c.processNextItem(ctx) {
			}
		})
	}
	<-ctx.Done()
	c.queue.ShutDown()
	workers.Wait()
}

// logFailures logs how many keys fail, until ctx ends.
func (c *Controller) logFailures(ctx context.Context) {
	ticker := c.config.Clock.NewTicker(failuresInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C():
			c.log.summarize()
		case <-ctx.Done():
			return
		}
	}
}

// processNextItem reconciles one key. It returns false when the queue is shut down.
func (c *Controller) processNextItem(ctx context.Context) bool {
	key, closed := c.queue.Get()
	if closed {
		return false
	}
	defer c.queue.Done(key)
	if ctx.Err() != nil {
		return true
	}
	result, err := c.reconcile(ctx, key)
	c.config.Metrics.count(c.config.Name, Outcome(result, err))
	c.schedule(ctx, key, result, err)
	return true
}

// schedule decides when key is reconciled again.
func (c *Controller) schedule(ctx context.Context, key Key, result Result, err error) {
	if err == nil {
		if !result.Unfinished {
			c.failures.forget(key)
			c.log.forget(key)
		}
		if result.RequeueAfter > 0 {
			c.queue.AddAfter(key, result.RequeueAfter)
		}
		return
	}
	delay, failures := c.failures.add(key, retryOf(result, err))
	later := errors.Is(err, ErrLater)
	if ctx.Err() == nil && (!later || failures > maxQuietRetries) {
		c.log.add(key, err, failures)
	}
	switch {
	case result.RequeueAfter > 0 && later:
		delay = result.RequeueAfter
	case result.RequeueAfter > 0:
		delay = min(delay, max(result.RequeueAfter, time.Second))
	}
	c.queue.AddAfter(key, delay)
}

// maxQuietRetries is how many times in a row ErrLater is not logged.
const maxQuietRetries = 10

// reconcile turns a panic into an error, so that one object can't crash the process.
func (c *Controller) reconcile(ctx context.Context, key Key) (result Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: panic: %v\n%s", key, p, debug.Stack())
		}
	}()
	return c.config.Reconciler.Reconcile(ctx, key)
}

// Outcomes of a reconcile in metrics and traces.
const (
	outcomeSuccess = "success"
	outcomeLater   = "later"
	outcomeError   = "error"
)

// Outcome returns how a reconcile ended.
func Outcome(result Result, err error) string {
	switch {
	case err == nil && result.Unfinished:
		return outcomeLater
	case err == nil:
		return outcomeSuccess
	case errors.Is(err, ErrLater):
		return outcomeLater
	default:
		return outcomeError
	}
}
