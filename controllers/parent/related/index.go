// Package related finds the objects that the customize hooks of parents select: the rules of an
// answer and their limits, an index from objects to the rules that may select them, and the caches
// that these need.
package related

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Index holds the related objects of a definition's parents: the rules of each parent's
// customize answer, the caches for them, and an index from objects to the rules that may select
// them. Equal rules of several parents are one. Events only look up the index; they call no hook.
type Index struct {
	pool  *informer.Pool
	Queue func(controller.Key) // set by Watch; until then it drops keys

	// mu is held for lookups and changes only, not while rules are matched or objects selected.
	mu         sync.Mutex
	caches     map[cacheID]*cache
	parents    map[controller.Key]*Request
	rules      map[ruleID]*sharedRule
	index      map[indexKey]map[*sharedRule]bool
	namespaces *informer.Handle                // once a rule selects namespaces
	awaited    map[controller.Key]resourceName // the resource that a parent waits for
	unsynced   waiters.Sets[schema.GroupVersionResource]

	ctx    context.Context // ends on close
	cancel context.CancelFunc
}

// sharedRule is a rule and the parents that asked for it. The lock guards the latter.
type sharedRule struct {
	*Rule
	parents map[controller.Key]bool
}

// cacheID identifies the cache of a resource. In a shard there may be several: of the shard, of a namespace outside of it and of all.
type cacheID struct {
	schema.GroupVersionResource
	of string
}

// poolFor returns the pool that has the objects that a rule may select, and the ID of its cache of the rule's resource.
func (r *Index) poolFor(rule *Rule) (cacheID, *informer.Pool) {
	gvr, here := rule.resource.GroupVersionResource, r.pool.Range()
	switch {
	case here.IsWhole():
		return cacheID{gvr, ""}, r.pool
	case rule.namespace == "" || !rule.resource.Namespaced:
		return cacheID{gvr, ""}, r.pool.Whole()
	case here.Contains(rule.namespace):
		return cacheID{gvr, "shard"}, r.pool
	default:
		return cacheID{gvr, "namespace " + rule.namespace}, r.pool.In(rule.namespace)
	}
}

// cacheOf returns the cache for a rule, or nil if it is not open.
func (r *Index) cacheOf(rule *Rule) *cache {
	id, _ := r.poolFor(rule)
	return r.caches[id]
}

// cache is a cache and the number of rules that use it.
type cache struct {
	*informer.Handle
	resource discovery.Resource
	rules    int
	cancel   context.CancelFunc // of wakeWhenSynced
}

// close closes the cache in the background, as its handlers may wait for a lock that the caller
// holds.
func (c *cache) close() {
	c.cancel()
	go c.Close()
}

// Request is the customize answer of one parent and what that names, with the content of the parent and the
// revision of the scripts that it was made for.
type Request struct {
	version  string // resourceVersion
	content  uint64
	Read     answers.Inputs // by the customize hook, and for the names
	Revision string
	Rules    []*Rule
	Kinds    []schema.GroupVersionKind // of what the parent may name
	Expires  time.Time                 // zero means never
}

// NewIndex returns an Index that reads related objects from the caches of a pool.
func NewIndex(pool *informer.Pool) *Index {
	ctx, cancel := context.WithCancel(context.Background())
	return &Index{
		ctx: ctx, cancel: cancel, pool: pool, Queue: func(controller.Key) {},
		caches:  map[cacheID]*cache{},
		parents: map[controller.Key]*Request{}, rules: map[ruleID]*sharedRule{}, index: map[indexKey]map[*sharedRule]bool{},
		awaited: map[controller.Key]resourceName{}, unsynced: waiters.Sets[schema.GroupVersionResource]{},
	}
}

// Lookup returns the last answer for a parent with the same content, as far as the hook has read it, or false if the hook must
// be called. The status is not part of the content: an answer must depend on the parent's other
// fields only.
func (r *Index) Lookup(
	key controller.Key, parent *unstructured.Unstructured, revision string, now time.Time,
) (asked Request, ok bool) {
	r.mu.Lock()
	known := r.parents[key]
	if known != nil {
		asked = *known
	}
	r.mu.Unlock()
	if known == nil || asked.Revision != revision || !asked.Expires.IsZero() && !now.Before(asked.Expires) {
		return Request{}, false
	}
	if asked.version == parent.GetResourceVersion() {
		return asked, true
	}
	if asked.content != answers.HashContent(parent, asked.Read) {
		return Request{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known.version = parent.GetResourceVersion()
	return *known, true
}

// Set replaces a parent's rules, and opens and closes caches as needed.
func (r *Index) Set(key controller.Key, parent *unstructured.Unstructured, asked Request) error {
	asked.version, asked.content = parent.GetResourceVersion(), answers.HashContent(parent, asked.Read)
	ids := make([]ruleID, len(asked.Rules))
	for i, rule := range asked.Rules {
		ids[i] = rule.id()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, rule := range asked.Rules {
		if err := r.openCaches(rule); err != nil {
			r.closeUnused()
			return err
		}
	}
	kept := make(map[*Rule]bool, len(ids))
	for i, id := range ids {
		shared := r.share(id, asked.Rules[i])
		shared.parents[key], kept[shared.Rule] = true, true
		asked.Rules[i] = shared.Rule
	}
	r.dropRules(key, kept)
	delete(r.awaited, key)
	r.parents[key] = &asked
	return nil
}

// share returns the shared rule that equals a rule, which it adds if there is none.
func (r *Index) share(id ruleID, rule *Rule) *sharedRule {
	shared := r.rules[id]
	if shared != nil {
		return shared
	}
	shared = &sharedRule{Rule: rule, parents: map[controller.Key]bool{}}
	r.rules[id] = shared
	r.cacheOf(rule).rules++
	for _, indexKey := range rule.indexKeys() {
		if r.index[indexKey] == nil {
			r.index[indexKey] = map[*sharedRule]bool{}
		}
		r.index[indexKey][shared] = true
	}
	return shared
}

// dropRules removes a parent from its rules, except for those to keep. Rules without a parent are
// removed, and so are caches without a rule.
func (r *Index) dropRules(key controller.Key, keep map[*Rule]bool) {
	known := r.parents[key]
	if known == nil {
		return
	}
	for _, rule := range known.Rules {
		if keep[rule] {
			continue
		}
		id := rule.id()
		shared := r.rules[id]
		if shared == nil {
			continue // The parent has the rule twice.
		}
		delete(shared.parents, key)
		if len(shared.parents) > 0 {
			continue
		}
		delete(r.rules, id)
		for _, indexKey := range rule.indexKeys() {
			delete(r.index[indexKey], shared)
			if len(r.index[indexKey]) == 0 {
				delete(r.index, indexKey)
			}
		}
		if cache := r.cacheOf(rule); cache != nil {
			cache.rules--
		}
	}
	r.closeUnused()
}

// closeUnused closes the caches without a rule.
func (r *Index) closeUnused() {
	for id, cache := range r.caches {
		if cache.rules == 0 {
			delete(r.caches, id)
			cache.close()
		}
	}
}

// drop removes a parent and its rules. The lock must be held.
func (r *Index) drop(key controller.Key) {
	r.dropRules(key, nil)
	delete(r.parents, key)
}

// Forget drops a deleted parent.
func (r *Index) Forget(key controller.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
	delete(r.awaited, key)
	r.unsynced.Drop(key)
}

// Err returns why a related resource cannot be read at present, or nil.
func (r *Index) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cache := range r.caches {
		if err := cache.Err(); err != nil {
			return err
		}
	}
	return nil
}

// Resources returns the resources that the rules select now.
func (r *Index) Resources() (all []discovery.Resource) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cache := range r.caches {
		all = append(all, cache.resource)
	}
	return all
}

// Close closes all caches.
func (r *Index) Close() {
	r.mu.Lock()
	caches := r.caches
	r.caches = map[cacheID]*cache{}
	namespaces := r.namespaces
	r.mu.Unlock()
	r.cancel()
	for _, cache := range caches {
		cache.Close()
	}
	if namespaces != nil {
		namespaces.Close()
	}
}

// openCaches opens the caches that a rule needs, unless they are open.
func (r *Index) openCaches(rule *Rule) error {
	gvr := rule.resource.GroupVersionResource
	if id, pool := r.poolFor(rule); r.caches[id] == nil {
		ctx, cancel := context.WithCancel(r.ctx)
		cache := &cache{Handle: pool.Open(gvr), resource: rule.resource, cancel: cancel}
		r.caches[id] = cache
		go r.wakeWhenSynced(ctx, gvr, cache.Handle)
		if err := cache.Watch(func(e informer.Event) { r.event(gvr, e) }); err != nil {
			return err
		}
	}
	if rule.namespaces == nil || r.namespaces != nil {
		return nil
	}
	r.namespaces = r.pool.Whole().Open(waiters.NamespaceResource)
	go r.wakeWhenSynced(r.ctx, waiters.NamespaceResource, r.namespaces)
	return r.namespaces.Watch(r.namespaceEvent)
}
