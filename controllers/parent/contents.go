package parent

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// syncContents makes sure that the content of everything that was written for a parent is known. If it returns a delay, events
// are still awaited, and no pass should begin before it ends. After that it reads the objects from the API server, so that a
// late or broken watch delays but does not block.
func (r *shared) syncContents(ctx context.Context, parent *unstructured.Unstructured) (time.Duration, error) {
	delay, overdue := r.pendingWrites.ContentDelay(parent.GetUID())
	if len(overdue) == 0 {
		return delay, nil
	}
	var group errgroup.Group
	group.SetLimit(max(r.env.Writes, 1))
	var mu sync.Mutex
	var errs []error
	for _, written := range overdue {
		group.Go(func() error {
			if err := r.readContent(ctx, written); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
			return nil
		})
	}
	_ = group.Wait() // Each error is in errs.
	return 0, failure.Join(errs)
}

// readContent reads an object whose content is unknown from the API server.
func (r *shared) readContent(ctx context.Context, written apply.Result) error {
	key := written.Change.Key
	live, err := r.get(ctx, written.Change.Resource, key.Namespace, key.Name)
	switch {
	case apierrors.IsNotFound(err):
		r.pendingWrites.SetContent(written, nil, nil)
		return nil
	case err != nil:
		return fmt.Errorf("%s was written, and no event has shown it: reading it: %w", key, err)
	}
	fields := r.env.Pool.AppliedFields(live)
	live.SetManagedFields(nil)
	r.pendingWrites.SetContent(written, live, fields)
	return nil
}

// noteWrite records the object that a write has returned until the caches show it.
func (p *pass) noteWrite(result apply.Result) {
	owner := p.parent.GetUID()
	if result.Partial {
		p.writes.partial = true
		p.pendingWrites.NotePartial(owner, result)
		if cached := p.sources.CachedChild(result.Object); cached != nil { // Its event may have come before the answer.
			p.pendingWrites.Observe(informer.Event{New: cached})
		}
		return
	}
	fields := p.env.Pool.AppliedFields(result.Object)
	object := result.Object
	object.SetManagedFields(nil)
	p.pendingWrites.NoteWritten(owner, object, result.Change.Observed == nil)
	p.pendingWrites.SetFields(object, fields)
}

// awaitContents returns result with a requeue for when no events show what the pass has written. The events that did while it
// ran may not have enqueued the parent.
func (p *pass) awaitContents(result controller.Result) controller.Result {
	if p.writes.partial {
		delay, _ := p.pendingWrites.ContentDelay(p.parent.GetUID())
		result.RequeueAfter = variant.Earlier(result.RequeueAfter, max(delay, debounce))
	}
	return result
}

// appliedFields returns the entries of a child's managedFields that this program has applied.
func (r *shared) appliedFields(child *unstructured.Unstructured) []any {
	if fields := r.pendingWrites.Fields(child); fields != nil {
		return fields
	}
	if source := r.sources.ChildrenOf(child.GroupVersionKind()); source != nil {
		return source.Cache.AppliedFields(child)
	}
	return nil
}
