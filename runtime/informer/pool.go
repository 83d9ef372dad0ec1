// Package informer keeps one informer for each resource in use, shared by all definitions that need it.
// The informer stops when its last user closes its handle.
//
// Cached objects are shared and must not be changed.
package informer

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
)

// Pool shares informers. It is safe for concurrent use.
type Pool struct {
	*informers
	// namespace is that of all objects, or empty for those of all namespaces.
	namespace string
	// secretReader is the account that reads Secrets.
	secretReader identity.Account
	// shard has the namespaces of objects.
	shard shard.Range
}

// scope is what an informer watches: a resource in a namespace, which is empty for all of the shard, as an account.
type scope struct {
	schema.GroupVersionResource
	namespace string
	account   identity.Account
	shard     shard.Range
}

// informers are those of a Pool, and of what In returns.
type informers struct {
	ctx context.Context
	log logr.Logger
	// newInformer returns an informer of a resource, which has not been started. The sharedInformer is what will have it.
	newInformer func(*sharedInformer, scope) cache.SharedIndexInformer

	manager string // Whose managedFields are kept; empty for none.

	mu     sync.Mutex
	shared map[scope]*sharedInformer
}

// sharedInformer is the one informer for a resource.
type sharedInformer struct {
	informer   cache.SharedIndexInformer
	cancel     context.CancelFunc
	done       chan struct{}
	handles    map[*Handle]bool
	failure    atomic.Pointer[failure]
	stream     watchStream
	logged     failure  // The last one in the log. Only the reflector's goroutine uses it.
	indexSizes sync.Map // Maps indexEntry to the last number of objects.
}

// watchStream is what is known of an informer's watches.
type watchStream struct {
	mu     sync.Mutex
	opened int       // How many there were.
	since  time.Time // When the present one was opened, or zero.
}

// begin notes that a watch was opened, and end that it has ended.
func (w *watchStream) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.opened, w.since = w.opened+1, time.Now()
}

func (w *watchStream) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since = time.Time{}
}

// catchUpTime is how long after it was opened again a watch may not have brought all that has happened meanwhile.
const catchUpTime = 5 * time.Second

// mayLag reports whether something may have happened that the watches have not brought: the last one has ended, or was opened just now. The
// first one begins with what its list has.
func (w *watchStream) mayLag() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.opened > 0 && w.since.IsZero() || w.opened > 1 && time.Since(w.since) < catchUpTime
}

// failure is why a list or watch failed, and the resource version of the cache then.
type failure struct {
	err     error
	version string
}

// err returns the last failure, unless the cache has been updated since.
func (s *sharedInformer) err() error {
	f := s.failure.Load()
	if f == nil || f.version != s.informer.LastSyncResourceVersion() {
		return nil
	}
	return f.err
}

// onWatchError records a failure, and logs one that is retried once. The normal end of a watch is not a failure.
func (s *sharedInformer) onWatchError(ctx context.Context, r *cache.Reflector, err error) {
	if !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) && !errors.Is(err, io.EOF) {
		s.failed(err)
		version, before := s.informer.LastSyncResourceVersion(), s.logged
		s.logged = failure{err, version}
		if before.err != nil && before.err.Error() == err.Error() && before.version == version {
			return
		}
	}
	cache.DefaultWatchErrorHandler(ctx, r, err)
}

func (s *sharedInformer) failed(err error) {
	s.failure.Store(&failure{err: err, version: s.informer.LastSyncResourceVersion()})
}

// known returns the cached version of an object, or nil.
func (s *sharedInformer) known(namespace, name string) map[string]any {
	obj, exists, err := s.informer.GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !exists {
		return nil
	}
	return object(obj).Object
}

// NewRESTPool returns a Pool that reads an API server, with a client of RESTClientFor, as the account of the context of each request. Its
// informers stop with ctx.
// Cached objects share their equal parts.
func NewRESTPool(ctx context.Context, client rest.Interface, log logr.Logger) *Pool {
	p := newPool(ctx, log)
	p.newInformer = func(s *sharedInformer, of scope) cache.SharedIndexInformer {
		options := objectjson.Options{Interner: objectjson.NewInterner(), Previous: s.known}
		if p.manager != "" {
			options.KeepManagedFields = p.isKept
		}
		log := log.WithValues("resource", of.String())
		return (&listWatch{client: client, scope: of, options: options, log: log, failed: s.failed, watching: &s.stream}).informer()
	}
	return p
}

// NewPool returns a Pool that reads through a dynamic client, which may be a fake or a cluster in memory. Its informers
// stop with ctx.
func NewPool(ctx context.Context, client dynamic.Interface, log logr.Logger) *Pool {
	p := newPool(ctx, log)
	p.newInformer = func(_ *sharedInformer, of scope) cache.SharedIndexInformer {
		return dynamicinformer.NewFilteredDynamicInformer(client, of.GroupVersionResource, of.namespace, 0, indexers(), nil).Informer()
	}
	return p
}

func newPool(ctx context.Context, log logr.Logger) *Pool {
	return &Pool{informers: &informers{ctx: ctx, log: log, shared: map[scope]*sharedInformer{}}}
}

// In returns a Pool of which all caches have the objects of one namespace, so that the host needs no right to read others. It shares its
// informers with all that are for the same namespace. No cluster-scoped resource can be opened in it.
func (p *Pool) In(namespace string) *Pool {
	return &Pool{informers: p.informers, namespace: namespace, secretReader: p.secretReader}
}

// Shard returns a Pool of which all caches have the objects of the namespaces of a shard. No cluster-scoped resource can be opened in it,
// but in what Whole returns.
func (p *Pool) Shard(r shard.Range) *Pool {
	return &Pool{informers: p.informers, namespace: p.namespace, secretReader: p.secretReader, shard: r}
}

// Range returns that of the shard of which all caches have the objects.
func (p *Pool) Range() shard.Range { return p.shard }

// Whole returns the Pool of which p is a shard.
func (p *Pool) Whole() *Pool { return p.Shard(shard.Range{}) }

// ReadSecretsAs returns a Pool of which the caches of Secrets are read as an account, so that the host needs no right to.
func (p *Pool) ReadSecretsAs(account identity.Account) *Pool {
	return &Pool{informers: p.informers, namespace: p.namespace, secretReader: account, shard: p.shard}
}

// scopeOf returns what the informer of a resource watches.
func (p *Pool) scopeOf(resource schema.GroupVersionResource) scope {
	of := scope{GroupVersionResource: resource, namespace: p.namespace, shard: p.shard}
	if resource.GroupResource() == corev1.Resource("secrets") {
		of.account = p.secretReader
	}
	return of
}

// String returns the resource, and the namespace and the account if it is of one.
func (s scope) String() string {
	text := s.GroupVersionResource.String()
	if s.namespace != "" {
		text += " in namespace " + s.namespace
	}
	if !s.shard.IsWhole() {
		text += " in shard " + s.shard.String()
	}
	if !s.account.IsHost() {
		text += " as " + s.account.String()
	}
	return text
}

// KeepFields makes the caches keep those entries of managedFields that were applied by manager, or by a
// manager whose name begins with manager and a slash. AppliedFields returns them. It must be called
// before the first Open.
func (p *Pool) KeepFields(manager string) { p.manager = manager }

// Open returns a handle on the cache of a resource. It starts the informer if there is none. The handle must be closed.
func (p *Pool) Open(resource schema.GroupVersionResource) *Handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.scopeOf(resource)
	s := p.shared[of]
	if s == nil {
		s = p.start(of)
		p.shared[of] = s
	}
	h := &Handle{pool: p, scope: of, shared: s}
	s.handles[h] = true
	return h
}

// Renew has the next Open of each resource list it anew if its cache may lag behind the API server, as its watch was broken off. It reports
// whether there is one. Handles that are open stay as they are.
func (p *Pool) Renew() (lagged bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, s := range p.shared {
		if s.stream.mayLag() {
			delete(p.shared, of)
			lagged = true
		}
	}
	return lagged
}

// Share returns a handle on the cache of a resource if there is one and it has synced, or nil: it starts no informer. The handle must be
// closed.
func (p *Pool) Share(resource schema.GroupVersionResource) *Handle {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.scopeOf(resource)
	s := p.shared[of]
	if s == nil || !s.informer.HasSynced() {
		return nil
	}
	h := &Handle{pool: p, scope: of, shared: s}
	s.handles[h] = true
	return h
}

// Len returns the number of informers.
func (p *Pool) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.shared)
}

func (p *Pool) start(of scope) *sharedInformer {
	ctx, cancel := context.WithCancel(identity.WithAccount(p.ctx, of.account))
	s := &sharedInformer{cancel: cancel, done: make(chan struct{}), handles: map[*Handle]bool{}}
	s.informer = p.newInformer(s, of)
	// Both fail only for an informer that is running.
	_ = s.informer.SetTransform(p.transform)
	_ = s.informer.SetWatchErrorHandlerWithContext(s.onWatchError)
	p.log.V(1).Info("watching", "resource", of.String())
	go func() {
		defer close(s.done)
		s.informer.RunWithContext(ctx)
		p.log.V(1).Info("no longer watching", "resource", of.String())
	}()
	return s
}

// release removes a handle and stops the informer after the last one.
func (p *Pool) release(h *Handle) {
	s := h.shared
	p.mu.Lock()
	delete(s.handles, h)
	last := len(s.handles) == 0
	if last && p.shared[h.scope] == s { // Otherwise Renew has made room for another one.
		delete(p.shared, h.scope)
	}
	p.mu.Unlock()
	if last {
		s.cancel()
		<-s.done
	}
}

// transform processes an object before it enters the cache. It removes managedFields, which are half of a typical
// object and which no hook needs, and keeps the entries of KeepFields aside. Of objects that objectjson has decoded, no
// others are left.
func (p *Pool) transform(obj any) (any, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	fields := p.AppliedFields(u)
	u = withoutManagedFields(u)
	if len(fields) == 0 {
		return u, nil
	}
	return &cachedObject{u, fields}, nil
}
