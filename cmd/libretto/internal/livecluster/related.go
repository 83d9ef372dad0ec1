package livecluster

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// namespaces is the resource of Namespaces.
var namespaces = discovery.Resource{
	GroupVersionResource: corev1.SchemeGroupVersion.WithResource("namespaces"), Kind: corev1.SchemeGroupVersion.WithKind("Namespace"),
	HasStatus: true,
}

// Related reads what customize hooks select, and remembers it for other parents that select the same.
type Related struct {
	*Reader
	// gets counts the objects of a resource that were asked for by name.
	gets    map[discovery.Resource]int
	lists   map[listing][][]byte
	objects map[discovery.Resource]map[types.NamespacedName][]byte
	bytes   int
	// refused are the resources that can't be listed as a whole.
	refused map[discovery.Resource]bool
}

// Limits of what is remembered.
const (
	maxRelated = 32 << 20
	// maxGets is how many objects of a resource are asked for one by one. Then it is listed.
	maxGets = 20
)

// NewRelated returns a Related that remembers nothing yet.
func (r *Reader) NewRelated() *Related {
	return &Related{Reader: r, gets: map[discovery.Resource]int{}, lists: map[listing][][]byte{},
		objects: map[discovery.Resource]map[types.NamespacedName][]byte{}, refused: map[discovery.Resource]bool{}}
}

// Select returns the objects that a rule selects, and the Namespaces by whose labels it does.
func (r *Related) Select(ctx context.Context, s parent.Selection) ([]*unstructured.Unstructured, error) {
	if s.Namespaces != nil {
		return r.inNamespaces(ctx, s)
	}
	if s.Names == nil {
		return r.listed(ctx, listing{resource: s.Resource, namespace: s.Namespace, selector: textOf(s.Labels)})
	}
	if s.Resource.Namespaced && s.Namespace == "" { // In any namespace: only a list finds them.
		all, err := r.listed(ctx, listing{resource: s.Resource})
		return named(all, s.Names), err
	}
	var found []*unstructured.Unstructured
	for _, name := range s.Names {
		object, err := r.named(ctx, s.Resource, types.NamespacedName{Namespace: s.Namespace, Name: name})
		if err != nil {
			return nil, err
		}
		if object != nil {
			found = append(found, object)
		}
	}
	return found, nil
}

// inNamespaces returns the Namespaces that a rule selects, and what it selects in these.
func (r *Related) inNamespaces(ctx context.Context, s parent.Selection) ([]*unstructured.Unstructured, error) {
	found, err := r.listed(ctx, listing{resource: namespaces, selector: textOf(s.Namespaces)})
	if err != nil {
		return nil, err
	}
	for _, namespace := range found {
		objects, err := r.listed(ctx, listing{resource: s.Resource, namespace: namespace.GetName(), selector: textOf(s.Labels)})
		if err != nil {
			return nil, err
		}
		found = append(found, objects...)
	}
	return found, nil
}

func textOf(selector labels.Selector) string {
	if selector == nil {
		return ""
	}
	return selector.String()
}

func named(all []*unstructured.Unstructured, names []string) []*unstructured.Unstructured {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var found []*unstructured.Unstructured
	for _, object := range all {
		if wanted[object.GetName()] {
			found = append(found, object)
		}
	}
	return found
}

// listed returns the objects of a list.
func (r *Related) listed(ctx context.Context, l listing) ([]*unstructured.Unstructured, error) {
	texts, known := r.lists[l]
	if !known {
		err := r.list(ctx, l, func(o *unstructured.Unstructured) bool {
			if text, err := objectjson.Marshal(o.Object); err == nil { // It was JSON.
				texts = append(texts, text)
			}
			return true
		})
		if err != nil {
			return nil, err
		}
		size := 0
		for _, text := range texts {
			size += len(text)
		}
		if r.fits(size) {
			r.lists[l] = texts
		}
	}
	var all []*unstructured.Unstructured
	for _, text := range texts {
		object, err := r.decode(text)
		if err != nil {
			return nil, err
		}
		all = append(all, object)
	}
	return all, nil
}

// fits reports whether so many bytes can be remembered, and counts them.
func (r *Related) fits(bytes int) bool {
	if r.bytes+bytes > maxRelated {
		return false
	}
	r.bytes += bytes
	return true
}

// named returns one object, or nil. If many of a resource are asked for, all of them are listed, as far as that is allowed and they fit.
func (r *Related) named(ctx context.Context, resource discovery.Resource, name types.NamespacedName) (*unstructured.Unstructured, error) {
	if _, known := r.objects[resource][name]; known || r.all(ctx, resource) {
		text := r.objects[resource][name]
		if text == nil {
			return nil, nil
		}
		return r.decode(text)
	}
	object, err := r.Get(ctx, resource, name.Namespace, name.Name)
	if err != nil {
		return nil, err
	}
	r.gets[resource]++
	var text []byte
	if object != nil {
		if text, err = objectjson.Marshal(object.Object); err != nil {
			return nil, err
		}
	}
	if r.fits(len(text) + len(name.Name)) {
		r.remember(resource, name, text)
	}
	return object, nil
}

func (r *Related) remember(resource discovery.Resource, name types.NamespacedName, text []byte) {
	if r.objects[resource] == nil {
		r.objects[resource] = map[types.NamespacedName][]byte{}
	}
	r.objects[resource][name] = text
}

// all reports whether all objects of a resource are known. It lists them once many have been asked for.
func (r *Related) all(ctx context.Context, resource discovery.Resource) bool {
	if _, known := r.lists[listing{resource: resource}]; known {
		return true
	}
	if r.gets[resource] < maxGets || r.refused[resource] {
		return false
	}
	held, texts := 0, map[types.NamespacedName][]byte{}
	err := r.list(ctx, listing{resource: resource}, func(o *unstructured.Unstructured) bool {
		text, err := objectjson.Marshal(o.Object)
		held += len(text)
		texts[types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}] = text
		return err == nil && r.bytes+held <= maxRelated
	})
	var forbidden *ForbiddenError
	if err != nil || !r.fits(held) {
		r.refused[resource] = true
		if err != nil && !errors.As(err, &forbidden) {
			r.Warn(err.Error())
		}
		return false
	}
	r.lists[listing{resource: resource}] = nil
	for name, text := range texts {
		r.remember(resource, name, text)
	}
	r.lists[listing{resource: resource}] = values(texts)
	return true
}

func values(texts map[types.NamespacedName][]byte) [][]byte {
	all := make([][]byte, 0, len(texts))
	for _, text := range texts {
		all = append(all, text)
	}
	return all
}
