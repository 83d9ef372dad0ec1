package memcluster

import (
	"cmp"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubejson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
)

// apply is server-side apply without a schema: lists are atomic, as in a custom resource whose schema does
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
		live = r.before.DeepCopy()
	}
	result, err := t.fields.Apply(live, config, r.manager, r.force)
	if err != nil {
		return err
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
	result, err := t.fields.Update(before.DeepCopy(), after, manager)
	if err != nil {
		return nil, err
	}
	return withoutTimes(result), nil
}

// newFieldManager returns what an API server has for a custom resource that has no schema.
func newFieldManager(kind schema.GroupVersionKind) *managedfields.FieldManager {
	scheme := unstructuredScheme{runtime.NewScheme()}
	converter := managedfields.NewDeducedTypeConverter()
	manager, err := managedfields.NewDefaultCRDFieldManager(converter, scheme, scheme, scheme, kind, kind.GroupVersion(), "", nil)
	if err != nil {
		panic(err) // It depends on nothing but constants.
	}
	return manager
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
