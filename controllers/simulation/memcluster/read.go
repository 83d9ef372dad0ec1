package memcluster

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/values/objectkey"
)

func (e *endpoint) Get(_ context.Context, name string, _ metav1.GetOptions, _ ...string) (*unstructured.Unstructured, error) {
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	t, err := e.table()
	if err != nil {
		return nil, err
	}
	object := t.objects[types.NamespacedName{Namespace: e.namespace, Name: name}]
	if object == nil && t.GroupVersionResource == namespaces && e.record != nil { // Edits of a test need what is there.
		object = impliedNamespace(name)
	}
	if object == nil {
		return nil, apierrors.NewNotFound(e.resource.GroupResource(), name)
	}
	return e.out(object), nil
}

var namespaces = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}

// impliedNamespace returns a namespace that nobody has created, for a host: what it creates may be in any.
func impliedNamespace(name string) *unstructured.Unstructured {
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(name)
	namespace.SetUID(uidFor("Namespace", types.NamespacedName{Name: name}, 1))
	return namespace
}

func (e *endpoint) List(_ context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	matches, err := e.matcher(options)
	if err != nil {
		return nil, err
	}
	e.cluster.mu.Lock()
	defer e.cluster.mu.Unlock()
	t, err := e.table()
	if err != nil {
		return nil, err
	}
	t.listed = true
	list := &unstructured.UnstructuredList{Object: map[string]any{}}
	list.SetAPIVersion(t.Kind.GroupVersion().String())
	list.SetKind(t.Kind.Kind + "List")
	list.SetResourceVersion(strconv.FormatInt(e.cluster.version, 10))
	for _, object := range t.sorted() {
		if matches(object) {
			list.Items = append(list.Items, *e.out(object))
		}
	}
	return list, nil
}

// Objects returns copies of all objects, by kind, namespace and name.
func (c *Cluster) Objects() []*unstructured.Unstructured {
	all := c.Snapshot()
	for i, object := range all {
		all[i] = object.DeepCopy()
	}
	return all
}

// Snapshot returns all objects, by kind, namespace and name. They are read-only, and never change: a write stores another object.
func (c *Cluster) Snapshot() []*unstructured.Unstructured {
	c.mu.Lock()
	defer c.mu.Unlock()
	byName := func(a, b *table) int {
		return cmp.Compare(a.GroupVersionResource.String(), b.GroupVersionResource.String())
	}
	var tables []*table
	for _, t := range c.tables {
		if len(t.objects) > 0 {
			tables = append(tables, t)
		}
	}
	slices.SortFunc(tables, byName)
	var all []*unstructured.Unstructured
	for _, t := range tables {
		all = append(all, t.sorted()...)
	}
	return all
}

// Versions returns the resourceVersion of each object.
func (c *Cluster) Versions() map[objectkey.Key]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	versions := map[objectkey.Key]string{}
	for _, t := range c.tables {
		for key, object := range t.objects {
			versions[objectkey.Key{Kind: t.Kind, Namespace: key.Namespace, Name: key.Name}] = object.GetResourceVersion()
		}
	}
	return versions
}

// sorted returns the objects by namespace and name.
func (t *table) sorted() []*unstructured.Unstructured {
	keys := slices.SortedFunc(maps.Keys(t.objects), func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	all := make([]*unstructured.Unstructured, len(keys))
	for i, key := range keys {
		all[i] = t.objects[key]
	}
	return all
}

// matcher returns a function that reports whether the selectors of a list or watch match an object.
func (e *endpoint) matcher(options metav1.ListOptions) (func(*unstructured.Unstructured) bool, error) {
	byLabel, err := labels.Parse(options.LabelSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	byField, err := fields.ParseSelector(options.FieldSelector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(o *unstructured.Unstructured) bool {
		return (e.namespace == "" || o.GetNamespace() == e.namespace) &&
			(byLabel.Empty() || byLabel.Matches(labels.Set(o.GetLabels()))) && byField.Matches(fieldsOf{o})
	}, nil
}

// fieldsOf are the fields of an object for selectors: each field that is no list or object can be selected by.
type fieldsOf struct{ object *unstructured.Unstructured }

// Has reports whether the object has a field.
func (f fieldsOf) Has(path string) bool { return f.Get(path) != "" }

// Get returns a field as text, or "".
func (f fieldsOf) Get(path string) string {
	value, found, err := unstructured.NestedFieldNoCopy(f.object.Object, strings.Split(path, ".")...)
	if err != nil || !found {
		return ""
	}
	return fmt.Sprint(value)
}
