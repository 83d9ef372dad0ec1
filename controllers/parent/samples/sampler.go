// Package samples has what passes over some parents of a definition read, for previews of edits: these make the passes on a copy.
package samples

import (
	"cmp"
	"hash/fnv"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Source is what samples are taken of: the parents of a definition, and the caches of a process.
type Source struct {
	*sources.Sources
	Claim    func(parent *unstructured.Unstructured) (variant.Claim, error)
	Selector func(parent *unstructured.Unstructured) (labels.Selector, error)
	Pool     *informer.Pool
	Caches   *Caches
	// Related returns the resources of objects that customize hooks have asked for.
	Related func() []discovery.Resource
}

// Sampler hands out all parents in the order of the hashes of their UIDs, so that an object is among the first ones or not whatever else
// there is. It is not for several goroutines at once.
type Sampler struct {
	// Total is the number of all parents.
	Total int

	source    Source
	remaining []member // that were not handed out
}

// member is a parent when the Sampler was made.
type member struct {
	hash   uint64
	object *unstructured.Unstructured
	source *sources.Parent
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
	caches  *Caches
}

// sampled is an object and the cache that it is from.
type sampled struct {
	*unstructured.Unstructured
	cache *informer.Handle
}

// maxSampleBytes is how much memory the objects of a sample may take, about, and those of one parent more. As much again may be what
// hooks ask for on the way.
const maxSampleBytes = 64 << 20

// All returns a Sampler of all parents. The caches must be synced.
func (from Source) All() *Sampler {
	s := &Sampler{source: from}
	from.EachParent(func(source *sources.Parent, parent *unstructured.Unstructured) {
		s.remaining = append(s.remaining, member{Hash(parent.GetUID()), parent, source})
	})
	s.Total = len(s.remaining)
	slices.SortFunc(s.remaining, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.object.GetUID(), b.object.GetUID()))
	})
	return s
}

// Hash returns the hash by which parents are handed out: a sample has those with the lowest.
func Hash(uid types.UID) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(uid)) // It never fails.
	return hash.Sum64()
}

// Of returns a Sampler of one parent.
func (from Source) Of(object *unstructured.Unstructured) *Sampler {
	s := &Sampler{source: from}
	if source := from.ParentsOf(object.GroupVersionKind().GroupKind()); source != nil {
		s.remaining, s.Total = []member{{object: object, source: source}}, 1
	}
	return s
}

// Left returns how many parents were not handed out.
func (s *Sampler) Left() int { return len(s.remaining) }

// Next returns what passes over the next parents read, at most so many, and fewer if that is much. It is of no parents if none is left.
func (s *Sampler) Next(most int) *Sample {
	from := s.source
	sample := &Sample{pool: from.Pool, caches: from.Caches, seen: map[types.UID]bool{},
		Children: map[types.UID]map[schema.GroupKind]int{}, Resources: from.Related()}
	for len(s.remaining) > 0 && len(sample.Parents) < most && sample.bytes <= maxSampleBytes {
		m := s.remaining[0]
		s.remaining[0] = member{} // It may be the last one that refers to the object.
		s.remaining = s.remaining[1:]
		object := m.source.Cache.Get(m.object.GetNamespace(), m.object.GetName())
		if object == nil || object.GetUID() != m.object.GetUID() || !m.source.Manages(object) {
			s.Total--
			continue // It has gone meanwhile.
		}
		sample.Parents = append(sample.Parents, object)
		sample.add(m.source.Cache, object)
		from.addOwned(sample, object)
		from.addInputs(sample, object)
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
func (from Source) addOwned(s *Sample, parent *unstructured.Unstructured) {
	if from.Revisions != nil {
		s.add(from.Revisions.Cache, from.Revisions.Cache.OwnedBy(parent.GetUID())...)
	}
	claim, err := from.Claim(parent)
	if err != nil {
		return // The pass fails with it.
	}
	for i := range from.Children {
		cache := from.Children[i].Cache
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

// addInputs adds what a map makes outputs of for a parent, with the namespaces if it selects by these.
func (from Source) addInputs(s *Sample, parent *unstructured.Unstructured) {
	if len(from.Inputs) == 0 {
		return
	}
	selector, err := from.Selector(parent)
	if err != nil {
		return // The pass fails with it.
	}
	for i := range from.Inputs {
		found, err := from.Inputs[i].Cache.Select(parent.GetNamespace(), selector)
		if err != nil {
			continue
		}
		s.add(from.Inputs[i].Cache, found...)
		for _, input := range found {
			if from.Namespaces != nil {
				s.add(from.Namespaces, from.Namespaces.Get("", input.GetNamespace()))
			}
		}
	}
}
