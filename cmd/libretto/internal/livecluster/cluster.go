package livecluster

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// definitions returns the resource of a kind of definition.
func definitions(kind apischema.GroupVersionKind) discovery.Resource {
	return discovery.Resource{
		GroupVersionResource: v1alpha1.DefinitionResource(kind), Kind: kind, HasStatus: true, Custom: true,
		Namespaced: v1alpha1.IsNamespaced(kind.Group),
	}
}

// Definitions returns all definitions of the cluster.
func (r *Reader) Definitions(ctx context.Context) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	for _, kind := range v1alpha1.DefinitionTypes() {
		of := listing{resource: definitions(kind), isOptional: v1alpha1.IsNamespaced(kind.Group)}
		err := r.list(ctx, of, func(o *unstructured.Unstructured) bool {
			all = append(all, v1alpha1.SetNamespaces(o))
			return true
		})
		if missing := (*ForbiddenError)(nil); of.isOptional && errors.As(err, &missing) {
			r.Warn("it is not known whether definitions with a namespace have to do with it: " + err.Error())
			break // The other kinds are of the same group, which is the last.
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Definition returns a definition of the cluster, or nil.
func (r *Reader) Definition(ctx context.Context, key controller.Key) (*unstructured.Unstructured, error) {
	found, err := r.Get(ctx, definitions(key.Kind), key.Namespace, key.Name)
	if found != nil {
		found = v1alpha1.SetNamespaces(found)
	}
	return found, err
}

// ConfigMap returns a ConfigMap, or nil.
func (r *Reader) ConfigMap(ctx context.Context, name types.NamespacedName) (*unstructured.Unstructured, error) {
	resource := discovery.Resource{
		GroupVersionResource: corev1.SchemeGroupVersion.WithResource("configmaps"), Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		Namespaced: true,
	}
	return r.Get(ctx, resource, name.Namespace, name.Name)
}

// CustomResourceDefinition returns that of a resource, or nil if it is no custom one.
func (r *Reader) CustomResourceDefinition(ctx context.Context, resource apischema.GroupResource) (*unstructured.Unstructured, error) {
	crds := discovery.Resource{
		GroupVersionResource: apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions"),
		Kind:                 apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
	}
	return r.Get(ctx, crds, "", resource.String())
}

// Served returns resources of a cluster in memory for those that an API server serves and known lacks. Nothing is known of their schemas.
func Served(resources []discovery.Resource, known []memcluster.Resource) []memcluster.Resource {
	has := map[string]bool{}
	for _, resource := range known {
		has[resource.GroupVersionResource.String()] = true
	}
	var all []memcluster.Resource
	for _, resource := range resources {
		if !has[resource.GroupVersionResource.String()] {
			resource.Custom = true // Aggregated API servers are few, and their objects are seldom parents.
			all = append(all, memcluster.Resource{Resource: resource, Generation: true})
		}
	}
	return all
}

// Schemas returns the resources of a plan that are custom ones, with the schemas of the cluster's CustomResourceDefinitions, as far as the
// caller may read these. known are resources whose schemas are known.
func (r *Reader) Schemas(ctx context.Context, plan *plan.Plan, known []memcluster.Resource) ([]memcluster.Resource, error) {
	var all []memcluster.Resource
	for _, resource := range plan.Resources() {
		isSame := func(o memcluster.Resource) bool { return o.GroupVersionResource == resource.GroupVersionResource }
		if slices.ContainsFunc(slices.Concat(known, all), isSame) {
			continue
		}
		crd, err := r.CustomResourceDefinition(ctx, resource.GroupResource())
		var forbidden *ForbiddenError
		switch {
		case errors.As(err, &forbidden):
			r.Warn(fmt.Sprintf("%s: nothing of it is validated or defaulted: %v", resource.GroupResource(), err))
		case err != nil:
			return nil, err
		case crd != nil:
			resources, err := validation.Read(crd)
			if err != nil {
				return nil, err
			}
			all = append(all, resources...)
		}
	}
	return all, nil
}
