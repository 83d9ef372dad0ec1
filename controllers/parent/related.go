package parent

import (
	"fmt"
	"hash/maphash"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// relations are the related objects of a definition's parents: what each parent's
// customize answer asks for, the caches that this takes, and an index from
// objects back to the parents that asked for them. Events only look things up
// here; no hook is called for them.
type relations struct {
	pool  *informer.Pool
	queue func(controller.Key) // set by Watch, before there is any event
	seed  maphash.Seed

	mu         sync.Mutex
	caches     map[schema.GroupVersionResource]*relatedCache
	parents    map[controller.Key]*relation
	index      map[place]map[controller.Key]bool
	namespaces *informer.Handle // once a rule selects namespaces
}

// relatedCache is a cache and the number of rules that need it.
type relatedCache struct {
	*informer.Handle
	rules int
}

// relation is what one parent asks for, and the content that it was asked for with.
type relation struct {
	version string // resourceVersion
	content uint64
	rules   []relatedRule
}

// place is where a rule stands in the index: a name or a label, in one namespace or in any.
type place struct {
	resource  schema.GroupVersionResource
	namespace string
	token     string
}

// namespaceKind stands in the index for rules that select namespaces.
var namespaceResource = corev1.SchemeGroupVersion.WithResource("namespaces")

func newRelations(pool *informer.Pool) *relations {
	return &relations{
		pool: pool, seed: maphash.MakeSeed(),
		caches:  map[schema.GroupVersionResource]*relatedCache{},
		parents: map[controller.Key]*relation{},
		index:   map[place]map[controller.Key]bool{},
	}
}

// known gives what a parent of the same content asked for before. The status is
// no part of it: an answer must depend on the parent's own fields only.
func (r *relations) known(key controller.Key, parent *unstructured.Unstructured) ([]relatedRule, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.parents[key]
	if known == nil {
		return nil, false
	}
	if known.version != parent.GetResourceVersion() && known.content != r.contentOf(parent) {
		return nil, false
	}
	known.version = parent.GetResourceVersion()
	return known.rules, true
}

// contentOf hashes all of a parent but its status and what the API server counts.
func (r *relations) contentOf(parent *unstructured.Unstructured) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	content := WithMetadata(parent)
	delete(content.Object, "status")
	content.SetResourceVersion("")
	content.SetGeneration(0)
	writeValue(&h, content.Object)
	return h.Sum64()
}

func writeValue(h *maphash.Hash, value any) {
	switch v := value.(type) {
	case map[string]any:
		h.WriteByte('{')
		for _, key := range sortedKeys(v) {
			h.WriteString(key)
			h.WriteByte(0)
			writeValue(h, v[key])
		}
		h.WriteByte('}')
	case []any:
		h.WriteByte('[')
		for _, item := range v {
			writeValue(h, item)
		}
		h.WriteByte(']')
	default:
		fmt.Fprintf(h, "%T:%v\x00", v, v)
	}
}

// set notes what a parent asks for, and opens and closes caches accordingly.
func (r *relations) set(key controller.Key, parent *unstructured.Unstructured, rules []relatedRule) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range rules {
		if err := r.open(&rules[i]); err != nil {
			return err
		}
	}
	r.drop(key)
	r.parents[key] = &relation{version: parent.GetResourceVersion(), content: r.contentOf(parent), rules: rules}
	for i := range rules {
		for _, place := range rules[i].places() {
			if r.index[place] == nil {
				r.index[place] = map[controller.Key]bool{}
			}
			r.index[place][key] = true
		}
	}
	return nil
}

// forget drops a parent that is gone.
func (r *relations) forget(key controller.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop(key)
}

// close lets go of all caches.
func (r *relations) close() {
	r.mu.Lock()
	caches := r.caches
	r.caches = map[schema.GroupVersionResource]*relatedCache{}
	namespaces := r.namespaces
	r.mu.Unlock()
	for _, cache := range caches {
		cache.Close()
	}
	if namespaces != nil {
		namespaces.Close()
	}
}

func (r *relations) open(rule *relatedRule) error {
	gvr := rule.resource.GroupVersionResource
	cache := r.caches[gvr]
	if cache == nil {
		cache = &relatedCache{Handle: r.pool.Open(gvr)}
		r.caches[gvr] = cache
		if err := cache.Watch(func(e informer.Event) { r.event(gvr, e) }); err != nil {
			return err
		}
	}
	cache.rules++
	if rule.namespaces == nil || r.namespaces != nil {
		return nil
	}
	r.namespaces = r.pool.Open(namespaceResource)
	return r.namespaces.Watch(r.namespaceEvent)
}

func (r *relations) drop(key controller.Key) {
	known := r.parents[key]
	if known == nil {
		return
	}
	delete(r.parents, key)
	for i := range known.rules {
		for _, place := range known.rules[i].places() {
			delete(r.index[place], key)
			if len(r.index[place]) == 0 {
				delete(r.index, place)
			}
		}
		gvr := known.rules[i].resource.GroupVersionResource
		if cache := r.caches[gvr]; cache != nil {
			if cache.rules--; cache.rules == 0 {
				delete(r.caches, gvr)
				go cache.Close() // Its watchers may be waiting for the lock that is held here.
			}
		}
	}
}

// places are where a rule is found from an object that it might match.
func (r *relatedRule) places() []place {
	gvr := r.resource.GroupVersionResource
	var places []place
	if r.names != nil {
		for name := range r.names {
			places = append(places, place{gvr, r.namespace, "/" + name})
		}
		return places
	}
	for _, pair := range informer.Pairs(r.selector) {
		places = append(places, place{gvr, r.namespace, pair})
	}
	if r.namespaces != nil {
		for _, pair := range informer.Pairs(r.namespaces) {
			places = append(places, place{namespaceResource, "selected", pair})
		}
	}
	return places
}

// event enqueues the parents that asked for an object, as it was or as it is.
func (r *relations) event(gvr schema.GroupVersionResource, e informer.Event) {
	if e.Replay {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, object := range []*unstructured.Unstructured{e.Old, e.New} {
		if object == nil {
			continue
		}
		tokens := append(informer.PairsOf(object.GetLabels()), "/"+object.GetName())
		for _, token := range tokens {
			for _, namespace := range slices.Compact([]string{"", object.GetNamespace()}) {
				for key := range r.index[place{gvr, namespace, token}] {
					if slices.ContainsFunc(r.parents[key].rules, func(rule relatedRule) bool { return rule.matches(object, r.labelsOf) }) {
						r.queue(key)
					}
				}
			}
		}
	}
}

// namespaceEvent enqueues the parents for which a namespace begins or ceases to be selected.
func (r *relations) namespaceEvent(e informer.Event) {
	if e.Replay {
		return
	}
	before, after := labelsOf(e.Old), labelsOf(e.New)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pair := range slices.Concat(informer.PairsOf(before), informer.PairsOf(after)) {
		for key := range r.index[place{namespaceResource, "selected", pair}] {
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

// labelsOf gives the labels of a namespace; the lock is held.
func (r *relations) labelsOf(namespace string) labels.Set {
	if r.namespaces == nil {
		return nil
	}
	return labelsOf(r.namespaces.Get("", namespace))
}

// collect gives the objects that the rules ask for, each once, and their kinds.
func (r *relations) collect(rules []relatedRule) ([]*unstructured.Unstructured, []schema.GroupVersionKind, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var objects []*unstructured.Unstructured
	var kinds []schema.GroupVersionKind
	seen := map[types.UID]bool{}
	for i := range rules {
		rule := &rules[i]
		if !slices.Contains(kinds, rule.resource.Kind) {
			kinds = append(kinds, rule.resource.Kind)
		}
		found, err := r.find(rule)
		if err != nil {
			return nil, nil, err
		}
		for _, object := range found {
			if !seen[object.GetUID()] {
				seen[object.GetUID()] = true
				objects = append(objects, object)
			}
		}
	}
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int { return compareKeys(apply.KeyOf(a), apply.KeyOf(b)) })
	return objects, kinds, nil
}

// find looks one rule up.
func (r *relations) find(rule *relatedRule) ([]*unstructured.Unstructured, error) {
	cache := r.caches[rule.resource.GroupVersionResource]
	if cache == nil || !cache.HasSynced() || rule.namespaces != nil && !r.namespaces.HasSynced() {
		return nil, fmt.Errorf("%w: related %s are being listed", controller.ErrLater, rule.resource.GroupVersionResource.Resource)
	}
	switch {
	case rule.names != nil:
		return r.named(cache, rule)
	case rule.namespaces == nil:
		return cache.Select(rule.namespace, rule.selector)
	}
	selected, err := r.namespaces.Select("", rule.namespaces)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, namespace := range selected {
		in, err := cache.Select(namespace.GetName(), rule.selector)
		if err != nil {
			return nil, err
		}
		found = append(found, in...)
	}
	return found, nil
}

// named gets objects by name: directly, where the namespace is known.
func (r *relations) named(cache *relatedCache, rule *relatedRule) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for name := range rule.names {
		if rule.namespace == "" && rule.resource.Namespaced {
			all, err := cache.Named(name)
			if err != nil {
				return nil, err
			}
			found = append(found, all...)
		} else if object := cache.Get(rule.namespace, name); object != nil {
			found = append(found, object)
		}
	}
	return found, nil
}
