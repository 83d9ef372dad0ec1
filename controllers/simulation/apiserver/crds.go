package apiserver

import (
	"context"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

var crds = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")

// installOwn puts Libretto's own CustomResourceDefinitions into the cluster.
func (s *Server) installOwn() error {
	all, err := validation.AllOwn()
	if err != nil {
		return err
	}
	for _, own := range all {
		s.serve(customResource(own.Resource, own.Definition))
		object := own.Object.DeepCopy()
		object.SetUID(types.UID("customresourcedefinition." + object.GetName()))
		object.SetGeneration(1)
		object.SetCreationTimestamp(metav1.NewTime(s.config.Clock.Now()))
		object.Object["status"] = s.establishedStatus(object, own.Definition)
		if err := s.cluster.Store(object); err != nil { // It is not validated, which would take longer than all else.
			return err
		}
		s.controllers.served[object.GetName()] = servedCRD{object.GetUID(), 1}
	}
	return nil
}

func decodeCRD(object *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	return definition, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition)
}

// establishedStatus returns the status of a CustomResourceDefinition that is served.
func (s *Server) establishedStatus(object *unstructured.Unstructured, definition *apiextensionsv1.CustomResourceDefinition) map[string]any {
	status, _ := readiness.Succeeded(object, s.config.Clock.Now())
	status["acceptedNames"], _ = runtime.DefaultUnstructuredConverter.ToUnstructured(&definition.Spec.Names) // It has texts alone.
	for _, version := range definition.Spec.Versions {
		if version.Storage {
			status["storedVersions"] = []any{version.Name}
		}
	}
	return status
}

// syncCRD serves the resources of a CustomResourceDefinition, or deletes their objects if it is being deleted.
func (s *Server) syncCRD(ctx context.Context, object *unstructured.Unstructured) error {
	group := groupResourceOf(object)
	if object.GetDeletionTimestamp() != nil {
		return s.deleteCRD(ctx, object, group)
	}
	definition, err := decodeCRD(object)
	if err != nil {
		return err
	}
	known := servedCRD{object.GetUID(), object.GetGeneration()}
	if s.controllers.served[object.GetName()] != known {
		resources, err := validation.Read(object)
		if err != nil {
			return err
		}
		var versions []string
		for _, r := range resources {
			s.serve(customResource(r, definition))
			versions = append(versions, r.Version)
		}
		s.unserveOthers(group, versions)
		s.controllers.served[object.GetName()] = known
	}
	if status := s.establishedStatus(object, definition); !jsonvalue.Equal(object.Object["status"], status) {
		next := object.DeepCopy()
		next.Object["status"] = status
		_, err = s.client.Resource(crds).UpdateStatus(ctx, next, metav1.UpdateOptions{})
	}
	return err
}

// servedCRD is what of a CustomResourceDefinition was served last.
type servedCRD struct {
	uid        types.UID
	generation int64
}

func groupResourceOf(definition *unstructured.Unstructured) schema.GroupResource {
	return schema.GroupResource{Group: text(definition, "spec.group"), Resource: text(definition, "spec.names.plural")}
}

// unserveOthers makes the server forget the versions of a resource that are not served any more.
func (s *Server) unserveOthers(group schema.GroupResource, served []string) {
	for _, r := range s.all() {
		if r.GroupResource() == group && !slices.Contains(served, r.Version) {
			s.unserve(r.GroupVersionResource)
		}
	}
}

// deleteCRD deletes the objects of a CustomResourceDefinition, and lets it go once there are none.
func (s *Server) deleteCRD(ctx context.Context, object *unstructured.Unstructured, group schema.GroupResource) error {
	left, err := s.deleteAll(ctx, "", func(r *resource) bool { return r.GroupResource() == group })
	if err != nil || left > 0 {
		return err
	}
	next := object.DeepCopy()
	next.SetFinalizers(slices.DeleteFunc(next.GetFinalizers(), func(name string) bool {
		return name == apiextensionsv1.CustomResourceCleanupFinalizer
	}))
	_, err = s.client.Resource(crds).Update(ctx, next, metav1.UpdateOptions{})
	return err
}

// deleteAll deletes all objects of some resources, in one namespace or in all, and returns how many are left.
func (s *Server) deleteAll(ctx context.Context, namespace string, of func(*resource) bool) (left int, err error) {
	for _, r := range s.all() {
		if !of(r) {
			continue
		}
		at := (&request{resource: r, namespace: namespace}).endpoint(s.reader)
		if err := at.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			return 0, err
		}
		list, err := at.List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, err
		}
		left += len(list.Items)
	}
	return left, nil
}
