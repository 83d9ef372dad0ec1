package parent

import (
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Sample is what passes over some parents read of the caches: a preview makes these passes on a copy. Its objects are read-only.
type Sample struct {
	// Parents are some of all parents, chosen by the hashes of their UIDs, so that an object is in the sample or not whatever else there is.
	Parents []*unstructured.Unstructured
	// Total is the number of all parents.
	Total int
	// Children are the numbers of the objects that the parents own and that are not being deleted, by the UIDs of the parents.
	Children map[types.UID]int
	// Resources are those of Objects, and of objects that can be selected by Related.
	Resources []discovery.Resource

	objects []sampled
	bytes   int // of objects, in memory
	seen    map[types.UID]bool
	pool    *informer.Pool
}

// sampled is an object and the cache that it is from.
type sampled struct {
	*unstructured.Unstructured
	cache *informer.Handle
}

// maxSampleBytes is how much memory the objects of a sample may take, about, and those of one parent more. It is copied.
const maxSampleBytes = 64 << 20

// SampleOf returns what a pass over one parent reads.
func (r *Reconciler) SampleOf(object *unstructured.Unstructured) *Sample {
	s := &Sample{pool: r.env.Pool, seen: map[types.UID]bool{}, Children: map[types.UID]int{}, Resources: r.RelatedResources(), Total: 1}
	source := r.parentSource(object.GroupVersionKind().GroupKind())
	if source == nil {
		return s
	}
	s.Parents = append(s.Parents, object)
	s.add(source.cache, object)
	r.addOwned(s, object)
	r.addInputs(s, object)
	return s
}

// Sample returns what passes over at most so many parents read, and over fewer if that is much. The caches must be synced.
func (r *Reconciler) Sample(most int) *Sample {
	s := &Sample{pool: r.env.Pool, seen: map[types.UID]bool{}, Children: map[types.UID]int{}, Resources: r.RelatedResources()}
	type member struct {
		*unstructured.Unstructured
		source *parentSource
		hash   uint64
	}
	var members []member
	r.eachParent(func(source *parentSource, parent *unstructured.Unstructured) {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(parent.GetUID()))
		members = append(members, member{parent, source, hash.Sum64()})
	})
	s.Total = len(members)
	slices.SortFunc(members, func(a, b member) int {
		switch {
		case a.hash < b.hash:
			return -1
		case a.hash > b.hash:
			return 1
		}
		return 0
	})
	for _, m := range members[:min(most, len(members))] {
		if s.bytes > maxSampleBytes {
			break
		}
		s.Parents = append(s.Parents, m.Unstructured)
		s.add(m.source.cache, m.Unstructured)
		r.addOwned(s, m.Unstructured)
		r.addInputs(s, m.Unstructured)
	}
	return s
}

// add adds objects of a cache, each once.
func (s *Sample) add(cache *informer.Handle, objects ...*unstructured.Unstructured) {
	for _, object := range objects {
		if object != nil && !s.seen[object.GetUID()] {
			s.seen[object.GetUID()] = true
			s.objects = append(s.objects, sampled{object, cache})
			s.bytes += jsonvalue.Size(object.Object, maxSampleBytes)
		}
	}
}

// addOwned adds the children of a parent, the orphans that it selects, and its ControllerRevisions.
func (r *Reconciler) addOwned(s *Sample, parent *unstructured.Unstructured) {
	if r.revisions != nil {
		s.add(r.revisions.cache, r.revisions.cache.OwnedBy(parent.GetUID())...)
	}
	claim, err := r.config.Variant.Claim(parent)
	if err != nil {
		return // The pass fails with it.
	}
	for i := range r.children {
		cache := r.children[i].cache
		owned := cache.OwnedBy(parent.GetUID())
		s.add(cache, owned...)
		if claim.Selector != nil {
			s.add(cache, cache.Orphans(parent.GetNamespace(), claim.Selector)...)
		}
		for _, object := range claimChildren(parent, claim, owned).owned {
			if object.GetDeletionTimestamp() == nil {
				s.Children[parent.GetUID()]++
			}
		}
	}
}

// addInputs adds what a map makes outputs of for a parent, with the namespaces if it goes by these.
func (r *Reconciler) addInputs(s *Sample, parent *unstructured.Unstructured) {
	if len(r.inputSources) == 0 {
		return
	}
	selector, err := r.config.Selector(parent)
	if err != nil {
		return // The pass fails with it.
	}
	for i := range r.inputSources {
		found, err := r.inputSources[i].cache.Select(parent.GetNamespace(), selector)
		if err != nil {
			continue
		}
		s.add(r.inputSources[i].cache, found...)
		for _, input := range found {
			if r.namespaces != nil {
				s.add(r.namespaces, r.namespaces.Get("", input.GetNamespace()))
			}
		}
	}
}

// Copy returns copies of all objects, with what the caches keep of their managedFields. Parents are those of s.Parents.
func (s *Sample) Copy() (objects, parents []*unstructured.Unstructured) {
	isParent := make(map[types.UID]bool, len(s.Parents))
	for _, parent := range s.Parents {
		isParent[parent.GetUID()] = true
	}
	for _, from := range s.objects {
		object := copyOf(from.cache, from.Unstructured)
		if objects = append(objects, object); isParent[object.GetUID()] {
			parents = append(parents, object)
		}
	}
	return objects, parents
}

func copyOf(cache *informer.Handle, object *unstructured.Unstructured) *unstructured.Unstructured {
	copied := object.DeepCopy()
	if fields := cache.AppliedFields(object); len(fields) > 0 {
		_ = unstructured.SetNestedSlice(copied.Object, fields, "metadata", "managedFields") // It copies them.
	}
	return copied
}

// Existing returns a copy of an object of any cache of the process, or nil if there is none. It reports whether there is such a cache.
func (s *Sample) Existing(resource discovery.Resource, name types.NamespacedName) (object *unstructured.Unstructured, cached bool) {
	cache := s.pool.Share(resource.GroupVersionResource)
	if cache == nil {
		return nil, false
	}
	defer cache.Close()
	if found := cache.Get(name.Namespace, name.Name); found != nil {
		object = copyOf(cache, found)
	}
	return object, true
}

// Related returns copies of what a rule of the customize hook selects in any cache of the process, with the Namespaces if it goes by these.
// It reports whether there is such a cache.
func (s *Sample) Related(selection Selection) (objects []*unstructured.Unstructured, cached bool, err error) {
	cache := s.pool.Share(selection.Resource.GroupVersionResource)
	if cache == nil {
		return nil, false, nil
	}
	defer cache.Close()
	reader := relatedReader{cache: cache, relatedRule: &relatedRule{
		resource: selection.Resource, namespace: selection.Namespace, selector: selection.Labels, namespaces: selection.Namespaces,
	}}
	if selection.Names != nil {
		reader.names = make(map[string]bool, len(selection.Names))
		for _, name := range selection.Names {
			reader.names[name] = true
		}
	}
	if selection.Namespaces != nil {
		if reader.namespaceCache = s.pool.Share(namespaceResource); reader.namespaceCache == nil {
			return nil, false, nil
		}
		defer reader.namespaceCache.Close()
		for _, namespace := range reader.namespaceCache.List() {
			objects = append(objects, copyOf(reader.namespaceCache, namespace))
		}
	}
	found, err := reader.read()
	for _, object := range found {
		objects = append(objects, copyOf(cache, object))
	}
	return objects, true, err
}

// RelatedResources returns the resources that the customize hook's answers select now.
func (r *Reconciler) RelatedResources() []discovery.Resource {
	r.related.mu.Lock()
	defer r.related.mu.Unlock()
	var all []discovery.Resource
	for _, cache := range r.related.caches {
		all = append(all, cache.resource)
	}
	return all
}
