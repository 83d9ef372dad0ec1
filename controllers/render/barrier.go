package render

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/libretto-k8s/libretto/runtime/informer"
)

// barrierTimeout is far more than a cache in the same process ever takes.
const barrierTimeout = 30 * time.Second

const (
	// maxYields is how often the processor is yielded before it is left for longer: on a busy machine those who are waited for get
	// it later.
	maxYields = 10
	yieldTime = 20 * time.Microsecond
)

// barrier waits until the caches and their event handlers have processed all changes of the cluster.
func (s *Session) barrier(ctx context.Context, pool *informer.Pool) error {
	now := progress{pool: pool, resources: pool.Len(), version: s.cluster.Version()}
	if now == s.processed {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, barrierTimeout)
	defer cancel()
	watched, err := s.cluster.Watched(ctx, pool.Len())
	if err != nil {
		return fmt.Errorf("the caches do not begin to watch: %w", err)
	}
	tries := 0
	for resource, version := range watched {
		for !pool.Handled(resource, version) {
			if ctx.Err() != nil {
				return fmt.Errorf("the cache of %s has not processed version %d: %w", resource.Resource, version, context.Cause(ctx))
			}
			if tries++; tries < maxYields {
				runtime.Gosched() // The events are on their way through goroutines of this process.
			} else {
				time.Sleep(yieldTime)
			}
		}
	}
	s.processed = now
	return nil
}

// progress is a state of the cluster that caches have processed.
type progress struct {
	pool      *informer.Pool
	resources int
	version   int64
}
