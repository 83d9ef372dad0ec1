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
// not say otherwise. Objects have managedFields from their first apply on.
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
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(t.Kind)
	if r.before != nil {
		live = withFieldsTypes(r.before)
	}
	fields, err := t.fieldManager()
	if err != nil {
		return err
	}
	result, err := fields.Apply(live, config, r.manager, r.force)
	if err != nil {
		return serverError(err)
	}
	applied := withoutTimes(result)
	if r.before != nil {
		return c.update(t, r, applied)
	}
	applied.SetResourceVersion("") // The server ignores it if there is no object.
	r.sent = applied
	return c.create(t, r)
}

// updated returns an object after a write that is not an apply, with its new managedFields.
func (t *table) updated(before, after *unstructured.Unstructured, manager string) (*unstructured.Unstructured, error) {
	if !isManaged(before) && !isManaged(after) {
		return after, nil
	}
	fields, err := t.fieldManager()
	if err != nil {
		return nil, err
	}
	result, err := fields.Update(withFieldsTypes(before), withFieldsTypes(after), manager)
	if err != nil {
		return nil, serverError(err)
	}
	return withoutTimes(result), nil
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

// fieldManager returns what an API server has for the resource. The lock is held.
func (t *table) fieldManager() (*managedfields.FieldManager, error) {
	if t.fields != nil {
		return t.fields, nil
	}
	converter, err := t.typeConverter()
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	scheme := unstructuredScheme{runtime.NewScheme()}
	manager, err := managedfields.NewDefaultCRDFieldManager(converter, scheme, scheme, scheme, t.Kind, t.Kind.GroupVersion(), "", nil)
	t.fields = manager
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

// withoutTimes returns an object that depends on nothing but the requests: the field manager uses the
// clock of the machine, and sorts by it.
func withoutTimes(result runtime.Object) *unstructured.Unstructured {
	object, _ := result.(*unstructured.Unstructured)
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
