package single

import (
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// Reading is what is known of an object at one moment. It never changes once made.
type Reading struct {
	// Answered says that the API server has told whether the object exists.
	Answered bool
	// Data is what the object holds by key, and nil if there is no such object.
	Data map[string]string
	// Refusal is why the API server does not let us watch, or nil. What was read
	// before stays.
	Refusal error
}

// object is one object under watch. To its reflector it is a store that has room
// for that one object.
type object struct {
	name Name
	stop context.CancelFunc

	mu    sync.Mutex
	now   Reading
	users map[*Watch]struct{}
}

func (o *object) read() Reading {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *object) join(w *Watch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.users[w] = struct{}{}
}

// leave takes a user away and says how many are left.
func (o *object) leave(w *Watch) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.users, w)
	return len(o.users)
}

// change replaces the reading and tells all users.
func (o *object) change(edit func(*Reading)) {
	o.mu.Lock()
	edit(&o.now)
	users := maps.Clone(o.users)
	o.mu.Unlock()
	for w := range users {
		w.changed()
	}
}

// attempted takes note of how a request to list or watch went. A refusal is
// somebody else's to mend, and they must hear of it; what passes by itself, such
// as a lost connection, is the reflector's. Of an account that may neither list
// nor watch only the first refusal is kept, so that the two do not take turns.
func (o *object) attempted(err error) {
	last := o.read().Refusal
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	news := apierrors.ReasonForError(err) != apierrors.ReasonForError(last)
	if (refused && news) || (err == nil && last != nil) {
		o.change(func(r *Reading) { r.Refusal = err })
	}
}

func (o *object) hold(data map[string]string) {
	o.change(func(r *Reading) { r.Answered, r.Data = true, data })
}

// mine says whether an object is the one: servers that know no field selectors send all.
func (o *object) mine(given any) bool {
	accessor, err := meta.Accessor(given)
	return err == nil && accessor.GetName() == o.name.Name
}

// Add and the four below it are what a reflector asks of a store.
func (o *object) Add(given any) error {
	if o.mine(given) {
		o.hold(contents(given))
	}
	return nil
}

// Update is the same as Add.
func (o *object) Update(given any) error { return o.Add(given) }

// Delete forgets the object.
func (o *object) Delete(given any) error {
	if o.mine(given) {
		o.hold(nil)
	}
	return nil
}

// Replace takes a list that has the object, or has not.
func (o *object) Replace(all []any, _ string) error {
	for _, given := range all {
		if o.mine(given) {
			o.hold(contents(given))
			return nil
		}
	}
	o.hold(nil)
	return nil
}

// Resync has nothing to do.
func (o *object) Resync() error { return nil }

// contents gives all that an object holds, by key.
func contents(given any) map[string]string {
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
