package scripts

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/scripts/directory"
)

// watched is one source under watch.
type watched struct {
	origin Origin
	stop   context.CancelFunc

	mu    sync.Mutex
	now   reading
	wakes map[chan struct{}]struct{}
}

// reading is what is known of a source at one moment. It never changes once made.
type reading struct {
	// answered says that it has been told whether the source exists.
	answered bool
	// files is what the source holds, by key or path, and nil if there is no such source.
	files map[string]string
	// flaws are what is wrong with some of the files of a directory.
	flaws []directory.Flaw
	// refusal is why the source can't be watched or read, or nil.
	refusal error
	// uid and version are a ConfigMap's own.
	uid     types.UID
	version string
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
