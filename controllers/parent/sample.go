package parent

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Sampler hands out all parents in the order of the hashes of their UIDs, so that an object is among the first ones or not whatever else
// there is. It is not for several goroutines at once.
type Sampler struct {
	// Total is the number of all parents.
	Total int

	reconciler *Reconciler
	rest       []member // that were not handed out
}

// member is a parent when the Sampler was made.
type member struct {
	hash   uint64
	object *unstructured.Unstructured
	source *parentSource
}

// Sample is what passes over some parents read of the caches: a preview makes these passes on a copy. Its objects are read-only.
type Sample struct {
	Parents []*unstructured.Unstructured
	// Children are the numbers of the objects that the parents own and that are not being deleted, by the UIDs of the parents and by kind.
	Children map[types.UID]map[schema.GroupKind]int
	// Resources are those of objects, and of objects that can be selected by Related.
	Resources []discovery.Resource

	objects []sampled
	bytes   int // of objects, in memory
	seen    map[types.UID]bool
	pool    *informer.Pool
	caches  *previewCaches
}

// sampled is an object and the cache that it is from.
type sampled struct {
	*unstructured.Unstructured
	cache *informer.Handle
}

// maxSampleBytes is how much memory the objects of a sample may take, about, and those of one parent more. As much again may be what
// hooks ask for on the way.
const maxSampleBytes = 64 << 20

// Sampler returns a Sampler of all parents. The caches must be synced.
func (r *Reconciler) Sampler() *Sampler {
	s := &Sampler{reconciler: r}
	r.eachParent(func(source *parentSource, parent *unstructured.Unstructured) {
		s.rest = append(s.rest, member{SampleHash(parent.GetUID()), parent, source})
	})
	s.Total = len(s.rest)
	slices.SortFunc(s.rest, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.object.GetUID(), b.object.GetUID()))
	})
	return s
}

// SampleHash returns the hash by which parents are handed out: a sample has those with the lowest.
func SampleHash(uid types.UID) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(uid)) // It never fails.
	return hash.Sum64()
}

// SamplerOf returns a Sampler of one parent.
func (r *Reconciler) SamplerOf(object *unstructured.Unstructured) *Sampler {
	s := &Sampler{reconciler: r}
	if source := r.parentSource(object.GroupVersionKind().GroupKind()); source != nil {
		s.rest, s.Total = []member{{object: object, source: source}}, 1
	}
	return s
}

// Left returns how many parents were not handed out.
func (s *Sampler) Left() int { return len(s.rest) }

// Next returns what passes over the next parents read, at most so many, and fewer if that is much. It is of no parents if none is left.
func (s *Sampler) Next(most int) *Sample {
	r := s.reconciler
	sample := &Sample{pool: r.env.Pool, caches: r.previewCaches, seen: map[types.UID]bool{},
		Children: map[types.UID]map[schema.GroupKind]int{}, Resources: r.RelatedResources()}
	for len(s.rest) > 0 && len(sample.Parents) < most && sample.bytes <= maxSampleBytes {
		m := s.rest[0]
		s.rest[0] = member{} // It may be the last one that refers to the object.
		s.rest = s.rest[1:]
		object := m.source.cache.Get(m.object.GetNamespace(), m.object.GetName())
		if object == nil || object.GetUID() != m.object.GetUID() || !r.isParent(m.source, object) {
			s.Total--
			continue // It has gone meanwhile.
		}
		sample.Parents = append(sample.Parents, object)
		sample.add(m.source.cache, object)
		r.addOwned(sample, object)
		r.addInputs(sample, object)
	}
	return sample
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
		for _, child := range claims.LastingChildren(parent, claim, owned) {
			if s.Children[parent.GetUID()] == nil {
				s.Children[parent.GetUID()] = map[schema.GroupKind]int{}
			}
			s.Children[parent.GetUID()][child.GroupVersionKind().GroupKind()]++
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

// View is what one preview reads: the objects of a sample, and others that hooks ask for on the way. All are read-only, as the caches share
// them. It is not for several goroutines at once.
type View struct {
	// Objects are those of the sample, with what the caches keep of their managedFields.
	Objects []*unstructured.Unstructured

	pool   *informer.Pool
	caches *previewCaches
	// given are the objects that were handed out, and bytes the memory that those take that were asked for, about.
	given map[types.UID]bool
	bytes int
}

// ErrTooMuch is why Existing and Related return no more.
var ErrTooMuch = fmt.Errorf("the objects that hooks ask for take more than %d MiB", maxSampleBytes>>20)

// View returns a view of the sample.
func (s *Sample) View() *View {
	v := &View{pool: s.pool, caches: s.caches, given: make(map[types.UID]bool, len(s.objects)),
		Objects: make([]*unstructured.Unstructured, 0, len(s.objects))}
	for _, from := range s.objects {
		v.given[from.GetUID()] = true
		v.Objects = append(v.Objects, withAppliedFields(from.cache, from.Unstructured))
	}
	return v
}

// withAppliedFields returns a cached object with what the cache keeps of its managedFields.
func withAppliedFields(cache *informer.Handle, object *unstructured.Unstructured) *unstructured.Unstructured {
	fields := cache.AppliedFields(object)
	if len(fields) == 0 {
		return object
	}
	metadata := jsonvalue.With(jsonvalue.ObjectIn(object.Object, "metadata"), "managedFields", fields)
	return &unstructured.Unstructured{Object: jsonvalue.With(object.Object, "metadata", metadata)}
}

// more returns objects that were not handed out yet. Once there is too much, it always fails: what was asked for before may be missing.
func (v *View) more(cache *informer.Handle, objects ...*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	var added []*unstructured.Unstructured
	if v.bytes > maxSampleBytes {
		return nil, ErrTooMuch
	}
	for _, object := range objects {
		if v.given[object.GetUID()] {
			continue
		}
		if v.bytes += jsonvalue.Size(object.Object, maxSampleBytes); v.bytes > maxSampleBytes {
			return nil, ErrTooMuch
		}
		v.given[object.GetUID()] = true
		added = append(added, withAppliedFields(cache, object))
	}
	return added, nil
}

// Existing returns an object of any cache of the process, or nil if there is none. It reports whether there is such a cache.
func (v *View) Existing(
	resource discovery.Resource, name types.NamespacedName,
) (object *unstructured.Unstructured, cached bool, err error) {
	cache := v.pool.Share(resource.GroupVersionResource)
	if cache == nil {
		return nil, false, nil
	}
	defer cache.Close()
	found := cache.Get(name.Namespace, name.Name)
	if found == nil {
		return nil, true, nil
	}
	added, err := v.more(cache, found)
	if len(added) == 1 {
		object = added[0]
	}
	return object, true, err
}

// Related returns what a rule of the customize hook selects, with the Namespaces if it goes by these, but for what was handed out before.
// Caches that nobody has are filled: the edit needs them anyhow, once it serves.
func (v *View) Related(ctx context.Context, selection related.Selection) (objects []*unstructured.Unstructured, err error) {
	cache, err := v.caches.share(ctx, selection.Resource.GroupVersionResource)
	if err != nil {
		return nil, err
	}
	defer cache.Close()
	var namespaces *informer.Handle
	if selection.Namespaces != nil {
		if namespaces, err = v.caches.share(ctx, waiters.NamespaceResource); err != nil {
			return nil, err
		}
		defer namespaces.Close()
		if objects, err = v.more(namespaces, namespaces.List()...); err != nil {
			return nil, err
		}
	}
	found, err := selection.Read(cache, namespaces)
	if err != nil {
		return nil, err
	}
	related, err := v.more(cache, found...)
	return append(objects, related...), err
}

// RelatedResources returns the resources that the customize hook's answers select now.
func (r *Reconciler) RelatedResources() []discovery.Resource { return r.related.Resources() }
