package objectwatch

import (
	"bytes"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/runtime/watchset"
)

// object is one watched object. It implements the store of a reflector, with room for that one object.
type object struct {
	*watchset.Entry[Snapshot]
	name Name
	// dataOf returns the data of an observed object, and missing is what to do if its resource is not served.
	dataOf  func(metav1.Object) map[string]string
	missing string
	// denied is the verb of the request that AccessErr is of. Only the reflector's goroutine uses it.
	denied string
}

// recordAccess records the result of a list or watch request. Denied access, and that there is no such resource, is reported because the
// user must fix it. The reflector retries transient errors, such as a lost connection. If both list and watch
// are denied, only the errors of the first are kept, so that the two do not alternate.
func (o *object) recordAccess(verb string, err error) {
	last := o.Read().AccessErr
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
	news := apierrors.ReasonForError(err) != apierrors.ReasonForError(last) || verb == o.denied
	if (refused && news) || (err == nil && last != nil) {
		if err = o.withRemedy(err); err == nil || last == nil || err.Error() != last.Error() {
			o.denied = verb
			o.Change(func(r *Snapshot) { r.AccessErr = err })
		}
	}
}

// withRemedy adds what to do about a missing resource, or a missing right of the host. For those of an account there is a condition.
func (o *object) withRemedy(err error) error {
	if apierrors.IsNotFound(err) && o.missing != "" {
		return fmt.Errorf("%w: %s", err, o.missing)
	}
	if !o.name.Account.IsHost() || !apierrors.IsForbidden(err) {
		return err
	}
	return fmt.Errorf("%w: libretto rbac -f FILES --host prints what the host needs", err)
}

// set stores the object's data, or that it does not exist if obj is nil.
func (o *object) set(obj metav1.Object) {
	next := Snapshot{Synced: true}
	if obj != nil {
		next.Data, next.UID, next.ResourceVersion = o.dataOf(obj), obj.GetUID(), obj.GetResourceVersion()
		next.Annotations, next.ManagedFields = obj.GetAnnotations(), obj.GetManagedFields()
		next.Manager = LastWriter(next.ManagedFields, "data").Manager
	}
	o.Change(func(r *Snapshot) {
		next.AccessErr = r.AccessErr
		*r = next
	})
}

// LastWriter returns the entry of the manager that has a field of that name, at any depth, and wrote last. It is empty if there is none.
func LastWriter(fields []metav1.ManagedFieldsEntry, name string) (last metav1.ManagedFieldsEntry) {
	for _, entry := range fields {
		has := entry.FieldsV1 != nil && bytes.Contains(entry.FieldsV1.GetRawBytes(), []byte(`"f:`+name+`"`))
		if has && (last.Manager == "" || entry.Time != nil && (last.Time == nil || last.Time.Before(entry.Time))) {
			last = entry
		}
	}
	return last
}

// match returns the object if it has the name, else nil: a server without field selectors sends all
// objects.
func (o *object) match(obj any) metav1.Object {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetName() == o.name.Name {
		return accessor
	}
	return nil
}

// Add implements cache.ReflectorStore, as the four methods below do.
func (o *object) Add(obj any) error {
	if matched := o.match(obj); matched != nil {
		o.set(matched)
	}
	return nil
}

// Update does the same as Add.
func (o *object) Update(obj any) error { return o.Add(obj) }

// Delete records that the object does not exist.
func (o *object) Delete(obj any) error {
	if o.match(obj) != nil {
		o.set(nil)
	}
	return nil
}

// Replace takes a list with or without the object.
func (o *object) Replace(all []any, _ string) error {
	for _, obj := range all {
		if matched := o.match(obj); matched != nil {
			o.set(matched)
			return nil
		}
	}
	o.set(nil)
	return nil
}

// Resync does nothing.
func (o *object) Resync() error { return nil }

// dataOf returns the object's data by key.
func dataOf(obj metav1.Object) map[string]string {
	data := map[string]string{}
	bytes := func(values map[string][]byte) {
		for key, value := range values {
			data[key] = string(value)
		}
	}
	switch object := obj.(type) {
	case *corev1.Secret:
		bytes(object.Data)
	case *corev1.ConfigMap:
		maps.Copy(data, object.Data)
		bytes(object.BinaryData)
	}
	return data
}
