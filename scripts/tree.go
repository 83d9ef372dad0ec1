package scripts

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// quietFor is how long the ConfigMaps of a tree must be still before they are
	// read, if there are several: whoever edits them together writes them one after another.
	quietFor = 50 * time.Millisecond
	// quietLimit is how long edits that don't end can hold up a tree.
	quietLimit = time.Second
	// retryAfter is how long a tree rests that failed for a reason that may pass.
	retryAfter = time.Minute
)

// Tree is the module tree of one definition, kept up to date.
type Tree struct {
	library *Library
	spec    Spec
	hooks   []byte
	sources map[types.NamespacedName]*watched
	changed func()
	cancel  context.CancelFunc
	wake    chan struct{}
	closing sync.Once

	current atomic.Pointer[Revision]
	mu      sync.Mutex
	state   State

	// What follows belongs to the goroutine of run.
	failed   fingerprint // what did not compile the last time
	failures []Problem   // and why
}

// Current gives the revision that serves, or nil until the first one has loaded.
// Whoever answers one call with it should ask once, and keep it until the call ends.
func (t *Tree) Current() *Revision { return t.current.Load() }

// State says how far the tree has come.
func (t *Tree) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Close ends the tree; the revision that serves stays usable. A call of changed
// that has begun may end after Close.
func (t *Tree) Close() {
	t.closing.Do(func() {
		t.cancel()
		t.library.watches.drop(t.sources, t.wake)
		t.library.forget(t)
	})
}

// run loads the newest text whenever it is woken. Edits that come while it
// works are one wake, so that a burst costs few loads and ends on its last edit.
func (t *Tree) run(ctx context.Context) {
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-retry:
			t.failures = nil
		case <-t.wake:
			t.settle(ctx)
		}
		t.load(ctx)
		if retry = nil; passing(t.failures) {
			retry = time.After(retryAfter)
		}
	}
}

func (t *Tree) settle(ctx context.Context) {
	if len(t.sources) < 2 {
		return
	}
	limit := time.After(quietLimit)
	for {
		select {
		case <-t.wake:
		case <-time.After(quietFor):
			return
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

// load brings the tree to what its sources hold now, as far as that can be loaded.
func (t *Tree) load(ctx context.Context) {
	d := assemble(t.spec, t.read(), t.library.registry)
	switch {
	case len(d.problems) > 0:
		t.publish(ctx, t.Current(), "", d.problems)
	case !d.pending:
		content := fingerprintOf(d.files, t.hooks)
		revision, problems := t.revision(ctx, d, content)
		t.publish(ctx, revision, content.id(), problems)
	}
}

func (t *Tree) read() map[types.NamespacedName]reading {
	readings := make(map[types.NamespacedName]reading, len(t.sources))
	for name, m := range t.sources {
		readings[name] = m.read()
	}
	return readings
}

// revision gives the revision of a content, compiling only what is new, or the last good one and why.
func (t *Tree) revision(ctx context.Context, d *draft, content fingerprint) (*Revision, []Problem) {
	last := t.Current()
	if last.is(content) {
		return last, nil
	}
	if t.failures != nil && t.failed == content {
		return last, t.failures
	}
	if shared := t.library.loaded(content); shared != nil {
		return shared, nil
	}
	programs, problems := compile(ctx, t.library.registry, t.spec, d)
	if t.failed, t.failures = content, problems; problems != nil {
		return last, problems
	}
	return &Revision{ID: content.id(), Programs: programs, content: content}, nil
}

// publish swaps in what was loaded, and tells if anything has changed.
func (t *Tree) publish(ctx context.Context, r *Revision, desired string, problems []Problem) {
	if ctx.Err() != nil {
		return
	}
	next := State{Loaded: r.id(), Desired: desired}.withProblems(problems)
	t.mu.Lock()
	same := t.state.Equal(next)
	t.state = next
	t.current.Store(r)
	t.mu.Unlock()
	if same {
		return
	}
	t.library.log.V(1).Info("scripts changed", "loaded", next.Loaded, "desired", next.Desired, "problems", next.Message())
	t.changed()
}
