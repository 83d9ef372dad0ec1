package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/runtime/informer"
)

// barrierTimeout is far more than a cache in the same process ever takes.
const barrierTimeout = 30 * time.Second

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
	if err := pool.WaitForHandled(ctx, watched); err != nil {
		return err
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
