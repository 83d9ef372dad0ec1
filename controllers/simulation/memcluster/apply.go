package memcluster

import (
	"cmp"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// apply is server-side apply. Without a schema lists are atomic, as in a custom resource whose schema does
// not say otherwise.
func (c *Cluster) apply(t *table, r *request) error {
	config := &unstructured.Unstructured{}
	if err := kubejson.Unmarshal(r.patch, &config.Object); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	r.body = config.DeepCopy().Object
	switch {
	case r.status:
		return apierrors.NewBadRequest("a cluster in memory does not apply a status")
	case config.GroupVersionKind() != t.Kind:
		return apierrors.NewBadRequest("the object is no " + t.Kind.String())
	case r.manager == "":
		return apierrors.NewBadRequest("an apply needs a field manager")
	case r.before == nil && config.GetUID() != "":
		return conflict(t, r, "uid mismatch: there is no object")
	}
	live := t.empty()
	if r.before != nil {
		live = withFieldsTypes(r.before)
	}
	fields, err := t.fieldManager("")
	if err != nil {
		return err
	}
	result, err := fields.Apply(live, config, r.manager, r.force)
	if err != nil {
		return serverError(err)
	}
	applied := c.managedObject(result)
	if r.before != nil {
		return c.update(t, r, applied)
	}
	applied.SetResourceVersion("") // The server ignores it if there is no object.
	r.sent = applied
	return c.create(t, r)
}

// empty returns the object that there is before one is created.
func (t *table) empty() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(t.Kind)
	return object
}

// clusterManager is the manager of what the cluster's own controllers write.
const clusterManager = "kube-controller-manager"

// updated returns an object after a write that is not an apply, with its new managedFields.
func (c *Cluster) updated(t *table, r *request, before, after *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fields, err := t.fieldManager(r.subresource)
	if err != nil {
		return nil, err
	}
	result, err := fields.Update(withFieldsTypes(before), withFieldsTypes(after), cmp.Or(r.manager, clusterManager))
	if err != nil {
		return nil, serverError(err)
	}
	return c.managedObject(result), nil
}

// withFieldsTypes returns a copy of an object whose managedFields say of what type they are. Decoders of caches leave that out.
func withFieldsTypes(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	metadata, _ := object.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, entry := range entries {
		if fields, ok := entry.(map[string]any); ok {
			fields["fieldsType"] = "FieldsV1"
		}
	}
	return object
}

// isManaged reports whether an object has managedFields.
func isManaged(object *unstructured.Unstructured) bool {
	metadata, _ := object.Object["metadata"].(map[string]any)
	_, managed := metadata["managedFields"]
	return managed
}

// fieldManager returns what an API server has for the resource or a subresource. The lock is held.
func (t *table) fieldManager(subresource string) (*managedfields.FieldManager, error) {
	if manager := t.fields[subresource]; manager != nil {
		return manager, nil
	}
	converter, err := t.typeConverter()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	scheme := unstructuredScheme{runtime.NewScheme()}
	manager, err := managedfields.NewDefaultCRDFieldManager(converter, scheme, scheme, scheme, t.Kind, t.Kind.GroupVersion(), subresource, nil)
	if err == nil {
		t.fields[subresource] = manager
	}
	return manager, err
}

// typeConverter returns the types that are known for server-side apply.
func (t *table) typeConverter() (managedfields.TypeConverter, error) {
	switch {
	case t.Schema != nil:
		return t.Schema.TypeConverter()
	case t.Rules != nil:
		return t.Rules.TypeConverter()
	default:
		return managedfields.NewDeducedTypeConverter(), nil
	}
}

// serverError returns an error of the field manager as the API server answers it.
func serverError(err error) error {
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonUnknown, Message: err.Error(),
	}}
}

// unstructuredScheme has one version of each kind.
type unstructuredScheme struct{ *runtime.Scheme }

// ConvertToVersion returns the object itself.
func (unstructuredScheme) ConvertToVersion(object runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return object, nil
}

// New returns an empty object.
func (unstructuredScheme) New(schema.GroupVersionKind) (runtime.Object, error) {
	return &unstructured.Unstructured{}, nil
}

// managedObject returns what a field manager has made. Unless all objects have managedFields, it depends on nothing but the requests: the
// field manager uses the clock of the machine, and sorts by it.
func (c *Cluster) managedObject(result runtime.Object) *unstructured.Unstructured {
	object, _ := result.(*unstructured.Unstructured)
	if c.managed {
		return object
	}
	entries := object.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	slices.SortFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Manager, b.Manager))
	})
	object.SetManagedFields(entries)
	return object
}
