package stage

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// complete adds the resources of objects of unknown kinds, and a Namespace for each namespace.
func (s *Stage) complete() {
	if unknown := s.unknownKinds(); len(unknown) > 0 {
		now := s.Clock.Now()
		s.Base = withResources(slices.Concat(s.Resources, unknown), s.Host, now).Redefine(s.Definition, now)
	}
	namespaced := map[schema.GroupVersionKind]bool{}
	for _, resource := range s.Resources {
		namespaced[resource.Kind] = resource.Namespaced
	}
	namespaces := map[string]*unstructured.Unstructured{}
	var objects []*unstructured.Unstructured
	for _, given := range s.Objects {
		object := given.DeepCopy()
		if namespaced[object.GroupVersionKind()] && object.GetNamespace() == "" {
			object.SetNamespace(s.Namespace)
		}
		if object.GroupVersionKind() == namespaceKind {
			namespaces[object.GetName()] = object
		}
		if object.GetName() == "" {
			object.SetName(object.GetGenerateName() + "0")
		}
		objects = append(objects, object)
	}
	s.Objects = withNamespaces(objects, namespaces)
}

// unknownKinds returns resources for the objects whose kinds are not served.
func (s *Stage) unknownKinds() []memcluster.Resource {
	known := map[schema.GroupVersionKind]bool{}
	for _, resource := range s.Resources {
		known[resource.Kind] = true
	}
	var unknown []memcluster.Resource
	for _, object := range s.Objects {
		if kind := object.GroupVersionKind(); !known[kind] {
			known[kind] = true
			unknown = append(unknown, guess(object))
			s.Warn(fmt.Sprintf("%s of %s: nothing is validated and no defaults are known: give its CustomResourceDefinition with -f",
				object.GetKind(), object.GetAPIVersion()))
		}
	}
	return unknown
}

var namespaceKind = corev1.SchemeGroupVersion.WithKind("Namespace")

// withNamespaces adds the Namespaces that are missing, and the label that the API server sets.
func withNamespaces(objects []*unstructured.Unstructured, given map[string]*unstructured.Unstructured) []*unstructured.Unstructured {
	missing := map[string]bool{}
	for _, object := range objects {
		if namespace := object.GetNamespace(); namespace != "" && given[namespace] == nil {
			missing[namespace] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		given[name] = NewNamespace(name)
		objects = append(objects, given[name])
	}
	for name, namespace := range given {
		activate(name, namespace)
	}
	return objects
}

// NewNamespace returns a Namespace as an API server has it.
func NewNamespace(name string) *unstructured.Unstructured {
	namespace := &unstructured.Unstructured{}
	namespace.SetGroupVersionKind(namespaceKind)
	namespace.SetName(name)
	activate(name, namespace)
	return namespace
}

func activate(name string, namespace *unstructured.Unstructured) {
	labels := namespace.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels["kubernetes.io/metadata.name"] = name
	namespace.SetLabels(labels)
	// A Namespace is active as soon as it is created.
	_ = unstructured.SetNestedField(namespace.Object, "Active", "status", "phase")
}

// guess returns the resource of an object whose CustomResourceDefinition is not known.
func guess(object *unstructured.Unstructured) memcluster.Resource {
	plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	// The apiVersion of an object was read before.
	resource, _ := memcluster.Custom(object.GetAPIVersion(), object.GetKind(), plural.Resource, true, true)
	return resource
}
