package scripts

import (
	"context"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// watched is one ConfigMap under watch. To its reflector it is a store that
// has room for that one object.
type watched struct {
	name types.NamespacedName
	stop context.CancelFunc

	mu    sync.Mutex
	now   reading
	wakes map[chan struct{}]struct{}
}

// reading is what is known of a ConfigMap at one moment. It never changes once made.
type reading struct {
	// answered says that the API server has told whether the object exists.
	answered bool
	// files is what the object holds by key, and nil if there is no such object.
	files map[string]string
	// refusal is why the API server doesn't let us watch, or nil.
	refusal error
}

func (m *watched) read() reading {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *watched) join(wake chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.wakes[wake] = struct{}{}
}

// leave takes a listener away and says how many are left.
func (m *watched) leave(wake chan struct{}) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.wakes, wake)
	return len(m.wakes)
}

// change replaces the reading and wakes all who listen. A wake that was not
// yet heard stands for this one as well.
func (m *watched) change(edit func(*reading)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	edit(&m.now)
	for wake := range m.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// attempted takes note of how a request to list or watch went. A refusal is
// somebody else's to mend, and they must hear of it. What passes by itself,
// such as a lost connection, is the reflector's to mend. Of an account that may
// neither list nor watch only the first refusal is kept, so that the two do not take turns.
func (m *watched) attempted(err error) {
	last := m.read().refusal
	refused := apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
	news := apierrors.ReasonForError(err) != apierrors.ReasonForError(last)
	if (refused && news) || (err == nil && last != nil) {
		m.change(func(r *reading) { r.refusal = err })
	}
}

func (m *watched) hold(files map[string]string) {
	m.change(func(r *reading) { r.answered, r.files = true, files })
}

// Add and the four below it are what a reflector asks of a store.
func (m *watched) Add(object any) error {
	if c := object.(*corev1.ConfigMap); c.Name == m.name.Name {
		m.hold(contents(c))
	}
	return nil
}

// Update is the same as Add.
func (m *watched) Update(object any) error { return m.Add(object) }

// Delete forgets the object.
func (m *watched) Delete(object any) error {
	if object.(*corev1.ConfigMap).Name == m.name.Name {
		m.hold(nil)
	}
	return nil
}

// Replace takes a list that has the object, or has not.
func (m *watched) Replace(objects []any, _ string) error {
	for _, object := range objects {
		if c := object.(*corev1.ConfigMap); c.Name == m.name.Name {
			m.hold(contents(c))
			return nil
		}
	}
	m.hold(nil)
	return nil
}

// Resync has nothing to do.
func (m *watched) Resync() error { return nil }

// contents gives all that a ConfigMap holds, by key. The API server sees to it
// that data and binaryData have no key in common.
func contents(c *corev1.ConfigMap) map[string]string {
	files := make(map[string]string, len(c.Data)+len(c.BinaryData))
	maps.Copy(files, c.Data)
	for key, value := range c.BinaryData {
		files[key] = string(value)
	}
	return files
}
