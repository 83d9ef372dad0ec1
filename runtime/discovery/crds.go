package discovery

import (
	"context"
	"fmt"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

var crdResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// ReadDefinition returns the CustomResourceDefinition of a resource with its schemas, which a Discovery drops, or nil if there is none. It
// asks for a list, which a host has the right to: it watches them, and needs none to get one.
func ReadDefinition(ctx context.Context, client dynamic.Interface, resource schema.GroupResource) (*unstructured.Unstructured, error) {
	ctx = identity.WithAccount(ctx, identity.Account{}) // Schemas are for all accounts.
	selector := fields.OneTermEqualSelector("metadata.name", resource.String()).String()
	list, err := client.Resource(crdResource).List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil, fmt.Errorf("reading CustomResourceDefinition %s: %w", resource, err)
	}
	for i := range list.Items {
		if list.Items[i].GetName() == resource.String() {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// newCRDInformer caches CustomResourceDefinitions without their schemas, which are nearly all of their
// size.
func newCRDInformer(client dynamic.Interface) cache.SharedIndexInformer {
	informer := dynamicinformer.NewFilteredDynamicInformer(client, crdResource, "", 0, nil, nil).Informer()
	// SetTransform fails only for an informer that is running.
	_ = informer.SetTransform(dropSchemas)
	return informer
}

func dropSchemas(obj any) (any, error) {
	crd, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return obj, nil
	}
	crd.SetManagedFields(nil)
	crd.SetAnnotations(nil)
	versions, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
	list, _ := versions.([]any)
	for _, version := range list {
		if v, ok := version.(map[string]any); ok {
			delete(v, "schema")
		}
	}
	return crd, nil
}

func (d *Discovery) crdHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { d.onCRDUpdate(obj); notify(&d.schemaListeners) },
		UpdateFunc: func(_, after any) { d.onCRDUpdate(after); notify(&d.schemaListeners) },
		DeleteFunc: func(obj any) { d.onCRDDelete(obj); notify(&d.schemaListeners) },
	}
}

func (d *Discovery) onCRDUpdate(obj any) {
	crd, err := toCRD(obj)
	if err != nil {
		d.config.Log.Error(err, "custom resource is not followed")
		return
	}
	gr := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	t := tableOfCRD(crd)
	d.update(func() bool {
		before, known := d.custom[gr]
		d.custom[gr] = t
		delete(d.deleted, gr)
		return !known || !maps.Equal(before, t)
	})
}

func (d *Discovery) onCRDDelete(obj any) {
	crd, err := toCRD(obj)
	if err != nil {
		return
	}
	gr := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	d.update(func() bool {
		delete(d.custom, gr)
		d.deleted[gr] = d.config.Clock.Now()
		maps.DeleteFunc(d.served, func(_ tableKey, r Resource) bool { return r.GroupResource() == gr })
		return true
	})
}

func toCRD(obj any) (*apiextensionsv1.CustomResourceDefinition, error) {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("CustomResourceDefinition cache holds a %T", obj)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, crd); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", u.GetName(), err)
	}
	return crd, nil
}

// tableOfCRD returns the resources of a CustomResourceDefinition that the API server serves. It returns
// none before the definition is established. A definition that is being deleted still serves its
// objects, so that their finalizers can be removed.
func tableOfCRD(crd *apiextensionsv1.CustomResourceDefinition) table {
	t := table{}
	if !isEstablished(crd) {
		return t
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
		t[tableKey{gv.String(), crd.Spec.Names.Plural}] = Resource{
			GroupVersionResource: gv.WithResource(crd.Spec.Names.Plural),
			Kind:                 gv.WithKind(crd.Spec.Names.Kind),
			Namespaced:           crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			HasStatus:            version.Subresources != nil && version.Subresources.Status != nil,
			Custom:               true,
		}
	}
	return t
}

func isEstablished(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
