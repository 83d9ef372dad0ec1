package parent

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// relatedIndex holds the related objects of a definition's parents: the rules of each parent's
// customize answer, the caches for them, and an index from objects to the parents that select
// them. Events only look up the index; they call no hook.
type relatedIndex struct {
	pool  *informer.Pool
	queue func(controller.Key) // set by Watch; until then it drops keys

	mu         sync.Mutex
	caches     map[schema.GroupVersionResource]*relatedCache
	parents    map[controller.Key]*relatedRequest
	index      parentSets[indexKey]
	namespaces *informer.Handle // once a rule selects namespaces
	unserved   parentSets[resourceName]
	unsynced   parentSets[schema.GroupVersionResource]

	ctx    context.Context // ends on close
	cancel context.CancelFunc
}

// relatedCache is a cache and the number of rules that use it.
type relatedCache struct {
	*informer.Handle
	resource discovery.Resource
	rules    int
	cancel   context.CancelFunc // of wakeWhenSynced
}

// close closes the cache in the background, as its handlers may wait for a lock that the caller
// holds.
func (c *relatedCache) close() {
	c.cancel()
	go c.Close()
}

// relatedRequest is the customize answer of one parent, with the content of the parent and the
// revision of the scripts that it was made for.
type relatedRequest struct {
	version  string // resourceVersion
	content  uint64
	revision string
	rules    []relatedRule
	expires  time.Time // zero means never
}

// indexKey identifies an entry of the index: a name or a label, in one namespace or in any.
type indexKey struct {
	resource  schema.GroupVersionResource
	namespace string
	token     string
}

// namespaceResource is also the resource in the index keys of namespace selectors.
var namespaceResource = corev1.SchemeGroupVersion.WithResource("namespaces")

func newRelatedIndex(pool *informer.Pool) *relatedIndex {
	ctx, cancel := context.WithCancel(context.Background())
	return &relatedIndex{
		ctx: ctx, cancel: cancel, unserved: parentSets[resourceName]{}, unsynced: parentSets[schema.GroupVersionResource]{},
		pool: pool, queue: func(controller.Key) {},
		caches:  map[schema.GroupVersionResource]*relatedCache{},
		parents: map[controller.Key]*relatedRequest{},
		index:   parentSets[indexKey]{},
	}
}

// lookup returns the last answer for a parent with the same content, or false if the hook must
// be called. The status is not part of the content: an answer must depend on the parent's other
// fields only.
func (r *relatedIndex) lookup(
	key controller.Key, parent *unstructured.Unstructured, revision string, now time.Time,
) (asked relatedRequest, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.parents[key]
	if known == nil || known.revision != revision || !known.expires.IsZero() && !now.Before(known.expires) {
		return relatedRequest{}, false
	}
	if known.version != parent.GetResourceVersion() && known.content != hashContent(parent) {
		return relatedRequest{}, false
	}
	known.version = parent.GetResourceVersion()
	return *known, true
}

// set replaces a parent's rules, and opens and closes caches as needed.
func (r *relatedIndex) set(key controller.Key, parent *unstructured.Unstructured, asked relatedRequest) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range asked.rules {
		if err := r.openCache(&asked.rules[i]); err != nil {
			return err
		}
	}
	r.drop(key)
	r.unserved.drop(key)
	asked.version, asked.content = parent.GetResourceVersion(), hashContent(parent)
	r.parents[key] = &asked
	for i := range asked.rules {
		for _, indexKey := range asked.rules[i].indexKeys() {
			r.index.add(indexKey, key)
		}
	}
	return nil
}

// forget drops a deleted parent.
func (r *relatedIndex) forget(key controller.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
	r.unserved.drop(key)
	r.unsynced.drop(key)
}

// err returns why a related resource cannot be read at present, or nil.
func (r *relatedIndex) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, cache := range r.caches {
		if err := cache.Err(); err != nil {
			return err
		}
	}
	return nil
}

// close closes all caches.
func (r *relatedIndex) close() {
	r.mu.Lock()
	caches := r.caches
	r.caches = map[schema.GroupVersionResource]*relatedCache{}
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

func (r *relatedIndex) openCache(rule *relatedRule) error {
	gvr := rule.resource.GroupVersionResource
	cache := r.caches[gvr]
	if cache == nil {
		ctx, cancel := context.WithCancel(r.ctx)
		cache = &relatedCache{Handle: r.pool.Open(gvr), resource: rule.resource, cancel: cancel}
		r.caches[gvr] = cache
		go r.wakeWhenSynced(ctx, gvr, cache.Handle)
		if err := cache.Watch(func(e informer.Event) { r.event(gvr, e) }); err != nil {
			return err
		}
	}
	cache.rules++
	if rule.namespaces == nil || r.namespaces != nil {
		return nil
	}
	r.namespaces = r.pool.Open(namespaceResource)
	go r.wakeWhenSynced(r.ctx, namespaceResource, r.namespaces)
	return r.namespaces.Watch(r.namespaceEvent)
}

func (r *relatedIndex) drop(key controller.Key) {
	known := r.parents[key]
	if known == nil {
		return
	}
	delete(r.parents, key)
	for i := range known.rules {
		for _, indexKey := range known.rules[i].indexKeys() {
			r.index.remove(indexKey, key)
		}
		gvr := known.rules[i].resource.GroupVersionResource
		if cache := r.caches[gvr]; cache != nil {
			if cache.rules--; cache.rules == 0 {
				delete(r.caches, gvr)
				cache.close()
			}
		}
	}
}

// indexKeys returns the keys under which objects find the rule: names, labels, or labels of the
// namespace if the rule has nothing more selective.
func (r *relatedRule) indexKeys() []indexKey {
	gvr := r.resource.GroupVersionResource
	var keys []indexKey
	if r.names != nil {
		for name := range r.names {
			keys = append(keys, indexKey{gvr, r.namespace, "/" + name})
		}
		return keys
	}
	pairs := informer.Pairs(r.selector)
	byNamespace := r.namespaces != nil && slices.Contains(pairs, "*")
	if !byNamespace {
		for _, pair := range pairs {
			keys = append(keys, indexKey{gvr, r.namespace, pair})
		}
	}
	if r.namespaces != nil {
		for _, pair := range informer.Pairs(r.namespaces) {
			keys = append(keys, indexKey{namespaceResource, "selected", pair})
			if byNamespace {
				keys = append(keys, indexKey{gvr, "", ofNamespace + pair})
			}
		}
	}
	return keys
}

// ofNamespace is the prefix of a token for a label of an object's namespace.
const ofNamespace = "namespace "

// tokens returns the tokens of the rules that may select an object.
func (r *relatedIndex) tokens(object *unstructured.Unstructured) []string {
	tokens := append(informer.PairsOf(object.GetLabels()), "/"+object.GetName())
	if r.namespaces != nil && object.GetNamespace() != "" {
		for _, pair := range informer.PairsOf(r.labelsOf(object.GetNamespace())) {
			tokens = append(tokens, ofNamespace+pair)
		}
	}
	return tokens
}

// event enqueues the parents that selected the old or the new state of an object.
func (r *relatedIndex) event(gvr schema.GroupVersionResource, e informer.Event) {
	if e.Replay {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if e.Old != nil && (e.New == nil || !maps.Equal(labelsOf(e.Old), labelsOf(e.New))) {
		r.enqueueRequesters(gvr, e.Old)
	}
	if e.New != nil {
		r.enqueueRequesters(gvr, e.New)
	}
}

// enqueueRequesters enqueues the parents that select an object. The lock must be held.
func (r *relatedIndex) enqueueRequesters(gvr schema.GroupVersionResource, object *unstructured.Unstructured) {
	for _, token := range r.tokens(object) {
		for _, namespace := range slices.Compact([]string{"", object.GetNamespace()}) {
			for key := range r.index[indexKey{gvr, namespace, token}] {
				if slices.ContainsFunc(r.parents[key].rules, func(rule relatedRule) bool { return rule.matches(object, r.labelsOf) }) {
					r.queue(key)
				}
			}
		}
	}
}

// namespaceEvent enqueues the parents whose rules begin or cease to select a namespace.
func (r *relatedIndex) namespaceEvent(e informer.Event) {
	if e.Replay {
		return
	}
	before, after := labelsOf(e.Old), labelsOf(e.New)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pair := range slices.Concat(informer.PairsOf(before), informer.PairsOf(after)) {
		for key := range r.index[indexKey{namespaceResource, "selected", pair}] {
			for _, rule := range r.parents[key].rules {
				if rule.namespaces != nil && rule.namespaces.Matches(before) != rule.namespaces.Matches(after) {
					r.queue(key)
				}
			}
		}
	}
}

func labelsOf(object *unstructured.Unstructured) labels.Set {
	if object == nil {
		return nil
	}
	return object.GetLabels()
}

// labelsOf returns the labels of a namespace. The lock must be held.
func (r *relatedIndex) labelsOf(namespace string) labels.Set {
	if r.namespaces == nil {
		return nil
	}
	return labelsOf(r.namespaces.Get("", namespace))
}
