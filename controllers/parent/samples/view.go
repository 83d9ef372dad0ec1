package samples

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// View is what one preview reads: the objects of a sample, and others that hooks ask for on the way. All are read-only, as the caches share
// them. It is not for several goroutines at once.
type View struct {
	// Objects are those of the sample, with what the caches keep of their managedFields.
	Objects []*unstructured.Unstructured

	pool   *informer.Pool
	caches *Caches
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

// Related returns what a rule of the customize hook selects, with the Namespaces if it selects by these, but for what was handed out
// before. Caches that nobody has are filled: the edit needs them anyhow, once it serves.
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
