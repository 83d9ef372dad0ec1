package discovery

import (
	"fmt"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// newDefinitionInformer caches CustomResourceDefinitions without their schemas,
// which are nearly all of their size.
func newDefinitionInformer(client dynamic.Interface) cache.SharedIndexInformer {
	resource := apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	informer := dynamicinformer.NewFilteredDynamicInformer(client, resource, "", 0, nil, nil).Informer()
	// The only error of SetTransform is that the informer runs already.
	_ = informer.SetTransform(withoutSchemas)
	return informer
}

func withoutSchemas(obj any) (any, error) {
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

func (d *Discovery) definitionEvents() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { d.definitionSeen(obj); d.schemasChanged() },
		UpdateFunc: func(_, after any) { d.definitionSeen(after); d.schemasChanged() },
		DeleteFunc: func(obj any) { d.definitionGone(obj); d.schemasChanged() },
	}
}

// schemasChanged says that a definition is another now, whatever of it.
func (d *Discovery) schemasChanged() {
	for _, f := range d.schemaListeners {
		f()
	}
}

func (d *Discovery) definitionSeen(obj any) {
	crd, err := definitionOf(obj)
	if err != nil {
		d.config.Log.Error(err, "custom resource is not followed")
		return
	}
	gr := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	t := customTable(crd)
	d.change(func() bool {
		before, known := d.custom[gr]
		d.custom[gr] = t
		delete(d.gone, gr)
		return !known || !maps.Equal(before, t)
	})
}

func (d *Discovery) definitionGone(obj any) {
	crd, err := definitionOf(obj)
	if err != nil {
		return
	}
	gr := schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}
	d.change(func() bool {
		delete(d.custom, gr)
		d.gone[gr] = d.config.Clock.Now()
		maps.DeleteFunc(d.served, func(_ name, r Resource) bool { return r.GroupResource() == gr })
		return true
	})
}

func definitionOf(obj any) (*apiextensionsv1.CustomResourceDefinition, error) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
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

// customTable gives the resources of a definition that the API server serves:
// none before the definition is established. One that is being deleted still
// serves its objects, so that their finalizers can be taken off.
func customTable(crd *apiextensionsv1.CustomResourceDefinition) table {
	t := table{}
	if !established(crd) {
		return t
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
		t[name{gv.String(), crd.Spec.Names.Plural}] = Resource{
			GroupVersionResource: gv.WithResource(crd.Spec.Names.Plural),
			Kind:                 gv.WithKind(crd.Spec.Names.Kind),
			Namespaced:           crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
			HasStatus:            version.Subresources != nil && version.Subresources.Status != nil,
			Custom:               true,
		}
	}
	return t
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established {
			return condition.Status == apiextensionsv1.ConditionTrue
		}
	}
	return false
}
