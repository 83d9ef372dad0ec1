package scripts

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
	"github.com/libretto-k8s/libretto/scripts/archive"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

const (
	// debounceLimit is how long continuous edits can delay a load.
	debounceLimit = time.Second
	// retryAfter is the delay before a load that failed for a transient reason is retried.
	retryAfter = time.Minute
)

// Tree is the module tree of one definition, kept up to date.
type Tree struct {
	library *Library
	spec    Spec
	hooks   []byte
	sources map[Origin]source
	changed func()
	cancel  context.CancelFunc
	wake    chan struct{}
	closing sync.Once
	kept    keptRevisions

	current atomic.Pointer[Revision]
	mu      sync.Mutex
	// state and suspended are guarded by mu.
	state     State
	suspended bool
	tests     treeTests
	previews  treePreviews

	// The fields below are used only by the goroutine of run.
	last     lastLoad
	traced   tracedEdit
	restored restored
	settling settling
}

// keptRevisions are where a tree has revisions besides the one that serves.
type keptRevisions struct {
	// archiver archives revisions that loaded. It may be nil.
	archiver *archiver
	verdicts *verdicts
	// revisions are those in memory, and loads those being loaded from the archive. The latter is nil without an archiver.
	revisions *revisions
	loads     *loads
}

// treeTests are what tests of a tree depend on and came to.
type treeTests struct {
	// inputs are what they depend on besides the text. The tree's mu guards it.
	inputs string
	// again is set if tests that failed are to be run again.
	again atomic.Bool
	// passed is the result of the tests of the revision that serves. Only run uses it.
	passed string
}

// treePreviews are what previews of a tree depend on and came to.
type treePreviews struct {
	// inputs are guarded by the tree's mu.
	inputs previewInputs
	// again is set if what was held is to be previewed again.
	again atomic.Bool
	// pending is used only by run.
	pending pendingPreview
}

// lastLoad is what is known of the last load.
type lastLoad struct {
	failed   fingerprint // what did not compile
	failures []Problem   // and why
	// revisions are those of the sources that were read.
	revisions string
	// throttledUntil is when the tree may be put together again.
	throttledUntil time.Time
}

// Current returns the revision that serves, or nil until the first one has loaded.
// A caller should use one revision for the whole of a call.
func (t *Tree) Current() *Revision { return t.current.Load() }

// State returns how far the tree has come.
func (t *Tree) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.state
}

// Objects returns the ConfigMaps and the objects of Flux among the sources that exist, as they were last read,
// for events about them. Each is there once.
func (t *Tree) Objects() []Object {
	byName := map[ObjectName]Object{}
	for origin, s := range t.sources {
		if object := s.object(); object.UID != "" {
			object.ObjectName = origin.Object()
			byName[object.ObjectName] = object
		}
	}
	return slices.Collect(maps.Values(byName))
}

// Object is a ConfigMap or an object of Flux that is a source, at one version.
type Object struct {
	ObjectName
	UID     types.UID
	Version string
	// Approval is its annotation that approves a revision.
	Approval Approval
	// Manager is the field manager that wrote the data last, or empty.
	Manager string
}

// Close ends the tree; the revision that serves stays usable. A call of changed
// that has begun may end after Close.
func (t *Tree) Close() {
	t.closing.Do(func() {
		t.cancel()
		for _, s := range t.sources {
			s.Close()
		}
		t.library.forget(t)
	})
}

// trigger wakes run. Several triggers before it runs count as one.
func (t *Tree) trigger() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// run loads the tree whenever it is triggered. Edits during a load are one trigger, so that
// a burst costs few loads, and the last edit is loaded.
func (t *Tree) run(ctx context.Context) {
	var retry, again <-chan time.Time
	for {
		var woken time.Time
		select {
		case <-ctx.Done():
			return
		case <-retry:
			if woken = time.Now(); isTransient(t.last.failures) { // Otherwise the same content would not be compiled again.
				t.last.failures = nil
			}
		case <-again:
			woken = time.Now()
		case <-t.wake:
			woken = time.Now()
			t.throttle(ctx)
			t.debounce(ctx)
		}
		if t.tests.again.Swap(false) && areTests(t.last.failures) {
			t.last.failures = nil
		}
		if t.isSuspended() { // The end of the suspension is a trigger.
			retry, again = nil, nil
			continue
		}
		t.load(ctx, woken)
		again = t.lookAgain()
		if retry = nil; isTransient(t.last.failures) {
			retry = time.After(retryAfter)
		}
	}
}

// throttle waits until the tree has not been put together for three times as long as that took: a large tree that is edited all the time
// takes a quarter of a processor at most, besides what compiles it.
func (t *Tree) throttle(ctx context.Context) {
	select {
	case <-time.After(time.Until(t.last.throttledUntil)):
	case <-ctx.Done():
	}
	select {
	case <-t.wake: // What it is about is loaded now.
	default:
	}
}

// debounce waits until the sources have no more changes, if there are several: ConfigMaps are written one after another.
func (t *Tree) debounce(ctx context.Context) {
	if len(t.sources) > 1 {
		directory.Debounce(ctx, t.wake)
	}
}

// load loads what the sources hold now, and publishes the result.
func (t *Tree) load(ctx context.Context, woken time.Time) {
	began := time.Now()
	d := assemble(t.spec, t.read(), t.library.Engines)
	t.last.revisions = d.revisions
	var content fingerprint
	if len(d.problems) == 0 && !d.pending {
		content = fingerprintOf(d.files, t.hooks)
	}
	if !d.pending {
		t.observe(content)
	}
	t.last.throttledUntil = time.Now().Add(min(3*time.Since(began), debounceLimit))
	switch {
	case len(d.problems) > 0:
		if t.isUnsettled(true) {
			return
		}
		t.publish(ctx, t.lastGood(ctx), State{}.withProblems(d.problems))
	case !d.pending:
		ctx = tracing.Begin(ctx, t.library.Tracer, tracing.Edit, woken, t.tracedEdit(content))
		t.loadContent(ctx, d, content, woken)
		t.endTrace(ctx, content)
	}
}

// loadContent makes a content serve, unless it does not compile, fails its tests, or is held.
func (t *Tree) loadContent(ctx context.Context, d *moduleTree, content fingerprint, woken time.Time) {
	revision, problems := t.revision(ctx, d, content)
	if revision == nil && problems == nil {
		return // The sources have changed, and run will load them.
	}
	if problems != nil {
		if !t.isUnsettled(true) {
			t.publish(ctx, t.lastGood(ctx), State{Desired: content.id()}.withProblems(problems))
		}
		return
	}
	t.remember(revision)
	preview, finished := t.preview(ctx, revision)
	if !finished {
		return
	}
	if t.isUnsettled(preview.Held != "" || preview.Destroys) {
		t.previews.pending.candidate, t.previews.pending.last = revision, preview
		return
	}
	if preview.Later || preview.Held != "" {
		t.publishHeld(ctx, content.id(), preview)
		return
	}
	t.serve(ctx, d, revision, preview, woken)
}

// serve publishes a revision of the sources that has passed its preview, and archives it.
func (t *Tree) serve(ctx context.Context, d *moduleTree, revision *Revision, preview Preview, woken time.Time) {
	before := t.Current()
	t.restored = restored{}
	state := State{
		Desired: revision.ID, Warnings: State{}.withProblems(d.warnings(revision.Programs)).Message(),
		Tested: t.tests.passed, Previewed: preview.Summary, NoBaselineReason: preview.NoBaselineReason, Approved: preview.Approved,
	}
	if !t.publish(ctx, revision, state) {
		return
	}
	passed := t.kept.verdicts.serve(d)
	if t.kept.archiver != nil && !t.spec.Follows { // Nobody would take it out of the queue.
		t.kept.archiver.offer(revision.ID, archive.Revision{Files: d.sourceFiles(), Hooks: t.hooks, TestsPassed: passed})
	}
	if revision != before {
		tracing.Root(ctx) // Also of one that was looked at before and is approved now.
		t.library.Metrics.reloaded(time.Since(woken))
	}
}

func (t *Tree) read() map[Origin]reading {
	readings := make(map[Origin]reading, len(t.sources))
	unpackers := make(map[Origin]unpackFunc, len(t.sources))
	for origin, s := range t.sources {
		readings[origin], unpackers[origin] = s.read(), s.unpacker()
	}
	expand(t.spec, readings, unpackers)
	return readings
}

// revision returns the revision of a content, compiling and testing only what is new, or why it does not serve. It returns neither if the
// sources have changed meanwhile.
func (t *Tree) revision(ctx context.Context, d *moduleTree, content fingerprint) (*Revision, []Problem) {
	if last := t.Current(); last.is(content, d.trustDomain) {
		return last, nil
	}
	if t.last.failures != nil && t.last.failed == content {
		return nil, t.last.failures
	}
	if t.previews.pending.candidate.is(content, d.trustDomain) {
		return t.previews.pending.candidate, nil
	}
	loading, span := tracing.Start(ctx, tracing.Load, trace.SpanKindInternal)
	r, problems := t.buildReporting(loading, d, content)
	span.End()
	if problems == nil {
		var finished bool
		if problems, finished = t.test(ctx, d, r); !finished {
			return nil, nil
		}
		if shared := t.library.loaded(content, d.trustDomain); shared != nil {
			r = shared // Another definition's tests have ended meanwhile.
		}
	}
	if t.last.failed, t.last.failures = content, problems; problems != nil {
		return nil, problems
	}
	return r, nil
}

// buildReporting is build for what the sources hold. If it lasts longer than all loads may take of their own time, it reports that the host
// is short of that.
func (t *Tree) buildReporting(ctx context.Context, d *moduleTree, content fingerprint) (r *Revision, problems []Problem) {
	done, began := make(chan struct{}), time.Now()
	go func() {
		defer close(done)
		r, problems = t.build(ctx, t.spec, d, content)
	}()
	select {
	case <-done:
	case <-time.After(time.Duration(len(t.spec.Hooks)) * loadingAfter):
		state := t.State()
		state.Desired, state.LoadingSince, state.Testing, state.Held = content.id(), began, "", ""
		t.publish(ctx, t.Current(), state)
		<-done
	}
	return r, problems
}

// build returns the revision of a content, shared or compiled.
func (t *Tree) build(ctx context.Context, spec Spec, d *moduleTree, content fingerprint) (*Revision, []Problem) {
	if shared := t.library.loaded(content, d.trustDomain); shared != nil {
		return shared, nil
	}
	programs, problems := compile(ctx, t.library.Engines, spec, d)
	if problems != nil {
		return nil, problems
	}
	return &Revision{
		ID: content.id(), Programs: programs, Edit: tracing.Started(ctx).SpanContext(), content: content, trustDomain: d.trustDomain,
	}, nil
}

// publish swaps in what was loaded, and calls changed if the state is new. next is the
// state of the sources. It returns false if the tree was closed or suspended meanwhile.
func (t *Tree) publish(ctx context.Context, r *Revision, next State) bool {
	if ctx.Err() != nil {
		return false
	}
	next.Loaded, next.RestoredFrom, next.NotRestored = r.id(), t.restored.from, t.restored.reason
	next.Annotated, next.Sources = t.annotated(), t.last.revisions
	t.mu.Lock()
	next.NotArchived, next.Archived = t.state.NotArchived, t.state.Archived // The archiver sets them at any time.
	if next.RestoredFrom != "" {
		next.Archived = next.Loaded
	}
	if t.suspended { // Checked under the lock of Suspend, after which no other revision may take over.
		t.mu.Unlock()
		return false
	}
	same := t.state.Equal(next)
	t.state = next
	t.current.Store(r)
	t.mu.Unlock()
	t.remember(r)
	if same { // changed makes the definition write its status: not for a load that ends like the last one.
		return true
	}
	if len(next.Problems) > 0 && !next.Undecided() {
		t.library.Metrics.failed(t.spec.Definition)
	}
	t.library.Log.V(1).Info("scripts changed", "definition", t.spec.Definition, "loaded", next.Loaded.Short(), "desired", next.Desired.Short(),
		"problems", next.Message(), "warnings", next.Warnings)
	t.changed()
	return true
}

// onArchived records that a revision is archived, or why not.
func (t *Tree) onArchived(id RevisionID, err error) {
	t.mu.Lock()
	before := t.state
	if t.state.NotArchived = ""; err != nil {
		t.state.NotArchived = err.Error()
	} else if current := t.Current().id(); id == current || t.state.Archived != current {
		t.state.Archived = id
	}
	news := !before.Equal(t.state)
	t.mu.Unlock()
	if news {
		t.changed()
	}
}
