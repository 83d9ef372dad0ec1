package single

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/runtime/shared"
)

// object is one object under watch. To its reflector it is a store that has room
// for that one object.
type object struct {
	*shared.Thing[Reading]
	name Name
}

// attempted takes note of how a request to list or watch went. A refusal is
// somebody else's to mend, and they must hear of it; what passes by itself, such
// as a lost connection, is the reflector's. Of an account that may neither list
// nor watch only the first refusal is kept, so that the two do not take turns.
func (o *object) attempted(err error) {
	last := o.Read().Refusal
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	news := apierrors.ReasonForError(err) != apierrors.ReasonForError(last)
	if (refused && news) || (err == nil && last != nil) {
		o.Change(func(r *Reading) { r.Refusal = err })
	}
}

// hold takes the object, or nil if there is none.
func (o *object) hold(given metav1.Object) {
	now := Reading{Answered: true}
	if given != nil {
		now.Data, now.UID, now.Version = contents(given), given.GetUID(), given.GetResourceVersion()
	}
	o.Change(func(r *Reading) {
		now.Refusal = r.Refusal
		*r = now
	})
}

// mine gives the object if it is the one, or nil: servers that know no field selectors send all.
func (o *object) mine(given any) metav1.Object {
	if accessor, err := meta.Accessor(given); err == nil && accessor.GetName() == o.name.Name {
		return accessor
	}
	return nil
}

// Add and the four below it are what a reflector asks of a store.
func (o *object) Add(given any) error {
	if mine := o.mine(given); mine != nil {
		o.hold(mine)
	}
	return nil
}

// Update is the same as Add.
func (o *object) Update(given any) error { return o.Add(given) }

// Delete forgets the object.
func (o *object) Delete(given any) error {
	if o.mine(given) != nil {
		o.hold(nil)
	}
	return nil
}

// Replace takes a list that has the object, or has not.
func (o *object) Replace(all []any, _ string) error {
	for _, given := range all {
		if mine := o.mine(given); mine != nil {
			o.hold(mine)
			return nil
		}
	}
	o.hold(nil)
	return nil
}

// Resync has nothing to do.
func (o *object) Resync() error { return nil }

// contents gives all that an object holds, by key.
func contents(given metav1.Object) map[string]string {
	data := map[string]string{}
	bytes := func(values map[string][]byte) {
		for key, value := range values {
			data[key] = string(value)
		}
	}
	switch object := given.(type) {
	case *corev1.Secret:
		bytes(object.Data)
	case *corev1.ConfigMap:
		maps.Copy(data, object.Data)
		bytes(object.BinaryData)
	}
	return data
}
