package stage

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/controllers/render/schema"
)

// complete adds the built-in resources, those of objects of unknown kinds, and a Namespace for each namespace.
func (s *Stage) complete() error {
	resources, err := schema.BuiltIn()
	if err != nil {
		return err
	}
	s.Resources = append(resources, s.Resources...)
	namespaces := map[string]*unstructured.Unstructured{}
	var objects []*unstructured.Unstructured
	for _, given := range s.Objects {
		object := given.DeepCopy()
		if s.resourceOf(object).Namespaced && object.GetNamespace() == "" {
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
	return nil
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
