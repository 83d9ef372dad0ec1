// Package informer keeps one cache for each resource that somebody needs,
// however many definitions need it, and stops watching when the last one lets go.
//
// Objects in the caches are shared by everybody and must not be changed.
package informer

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// Pool shares informers. It is used by many goroutines at once.
type Pool struct {
	ctx    context.Context
	client dynamic.Interface
	log    logr.Logger

	manager string // whose fields are kept, unless it is empty

	mu     sync.Mutex
	shared map[schema.GroupVersionResource]*shared
}

// shared is the one informer for a resource.
type shared struct {
	informer cache.SharedIndexInformer
	cancel   context.CancelFunc
	done     chan struct{}
	users    int
	failure  atomic.Pointer[failure]
	crowds   sync.Map // of crowded to the number of objects there were
}

// failure is why a list or watch failed, and how far the cache was then.
type failure struct {
	err     error
	version string
}

// err gives the last failure, unless the cache has got further since.
func (s *shared) err() error {
	f := s.failure.Load()
	if f == nil || f.version != s.informer.LastSyncResourceVersion() {
		return nil
	}
	return f.err
}

// failed notes a failure. That a watch ends now and then is none.
func (s *shared) failed(ctx context.Context, r *cache.Reflector, err error) {
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && !errors.Is(err, io.EOF) {
		s.failure.Store(&failure{err: err, version: s.informer.LastSyncResourceVersion()})
	}
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

// NewPool makes a pool whose informers end with ctx.
func NewPool(ctx context.Context, client dynamic.Interface, log logr.Logger) *Pool {
	return &Pool{ctx: ctx, client: client, log: log, shared: map[schema.GroupVersionResource]*shared{}}
}

// KeepFields has the caches keep, of an object's managedFields, what was applied by
// manager and by those whose names begin with manager and a slash. Handle.Applied gives
// it. It is called before the first cache is opened.
func (p *Pool) KeepFields(manager string) { p.manager = manager }

// Open gives a handle on the cache of a resource, over all namespaces, and
// starts to fill it if nobody did yet. The handle must be closed.
func (p *Pool) Open(resource schema.GroupVersionResource) *Handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shared[resource]
	if s == nil {
		s = p.start(resource)
		p.shared[resource] = s
	}
	s.users++
	return &Handle{pool: p, resource: resource, shared: s}
}

// Len is the number of resources that are watched.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.shared)
}

func (p *Pool) start(resource schema.GroupVersionResource) *shared {
	ctx, cancel := context.WithCancel(p.ctx)
	s := &shared{
		informer: dynamicinformer.NewFilteredDynamicInformer(p.client, resource, "", 0, indexers(), nil).Informer(),
		cancel:   cancel,
		done:     make(chan struct{}),
	}
	// Both can only fail for an informer that runs already.
	_ = s.informer.SetTransform(s.trimmer(p))
	_ = s.informer.SetWatchErrorHandlerWithContext(s.failed)
	p.log.V(1).Info("watching", "resource", resource.String())
	go func() {
		defer close(s.done)
		s.informer.RunWithContext(ctx)
		p.log.V(1).Info("no longer watching", "resource", resource.String())
	}()
	return s
}

// release takes one user away and stops the informer after the last one.
func (p *Pool) release(resource schema.GroupVersionResource, s *shared) {
	p.mu.Lock()
	s.users--
	last := s.users == 0
	if last {
		delete(p.shared, resource)
	}
	p.mu.Unlock()
	if last {
		s.cancel()
		<-s.done
	}
}

// trimmer gives what every object goes through before anybody sees it: it drops
// what no hook needs and what is half of a typical object's memory, puts aside the
// fields that are kept of that, and shares what the object has in common with others
// and with its former self. An informer does so in one goroutine.
func (s *shared) trimmer(p *Pool) cache.TransformFunc {
	sharer := newSharer()
	return func(obj any) (any, error) {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			return obj, nil
		}
		fields := p.Applied(u)
		dropFields(u)
		var before map[string]any
		var fieldsBefore []any
		key := cache.NewObjectName(u.GetNamespace(), u.GetName()).String()
		if known, exists, err := s.informer.GetIndexer().GetByKey(key); err == nil && exists {
			before, fieldsBefore = object(known).Object, fieldsOf(known)
		}
		sharer.object(u.Object, before)
		if len(fields) == 0 {
			return u, nil
		}
		sharer.items(fields, fieldsBefore)
		return &applied{u, fields}, nil
	}
}
