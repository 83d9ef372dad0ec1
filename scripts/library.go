// Package scripts loads the scripts of hooks: it watches their sources, compiles them
// and swaps in new revisions.
//
// A Library serves all definitions of a process. Each definition that has
// scripts opens a Tree: the module tree that its sources give together. The
// tree is read, compiled and swapped in as a whole, as a Revision that never
// changes; calls that started with the one before end with it. If a tree does not
// load, the last good revision keeps serving, and the tree's State has the problems
// and where they are.
package scripts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/scripts/archive"
	"github.com/libretto-k8s/libretto/scripts/artifact"
)

// Config is what a Library works with.
type Config struct {
	// Client reads ConfigMaps, and archives revisions.
	Client interface {
		objectwatch.Client
		archive.Client
	}
	// Metadata lists archived revisions. It may be nil if none are archived.
	Metadata metadata.Interface
	// Dynamic watches objects of Flux, and Artifacts fetches their artifacts. Both are nil if there are no such sources.
	Dynamic   dynamic.Interface
	Artifacts *artifact.Fetcher
	// Engines compile the scripts.
	Engines *engines.Registry
	// Root is the directory that contains directory sources. Empty means that there are
	// none.
	Root string
	// Tester runs the tests that come with scripts. It may be nil: then they are not run.
	Tester Tester
	Log    logr.Logger
	// Metrics may be nil.
	Metrics *Metrics
	// Tracer starts the spans of edits. Nil means that they have none.
	Tracer trace.Tracer
}

// Library loads the scripts of all definitions. It is used by many goroutines at once.
type Library struct {
	Config
	sources   *sources
	testSlots *Slots

	mu    sync.Mutex
	trees map[*Tree]struct{}
}

// NewLibrary makes a library, which does nothing until a tree is opened.
func NewLibrary(config Config) *Library {
	return &Library{
		Config:    config,
		sources:   newSources(config),
		testSlots: NewSlots(maxTestRuns, maxTestWait, errTestSlots),
		trees:     map[*Tree]struct{}{},
	}
}

// Open watches the sources of spec and returns at once, before anything is
// loaded. An error means that spec can never load, whatever the sources hold.
//
// After every change of Current or State the tree calls changed, from goroutines of
// its own; changes that come while it runs may be reported together.
func (l *Library) Open(spec Spec, changed func()) (*Tree, error) {
	if err := errors.Join(spec.check(), l.checkSources(spec)); err != nil {
		return nil, err
	}
	hooks, err := spec.encodeHooks()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(identity.WithAccount(context.Background(), spec.Account))
	t := &Tree{
		library: l, spec: spec, hooks: hooks, changed: changed, cancel: cancel,
		sources: map[Origin]source{}, wake: make(chan struct{}, 1), settling: settling{openedAt: time.Now()},
		kept: keptRevisions{verdicts: l.verdictsFor(spec), revisions: l.revisionsFor(spec)},
	}
	if spec.Archive != nil {
		t.kept.archiver = newArchiver(l.Config, spec, &t.kept.revisions.unarchived, t.retained, t.onArchived)
		t.kept.loads = newLoads(ctx, t)
		if !spec.Follows { // Otherwise it only reads the archive.
			go t.kept.archiver.run(ctx)
		}
	}
	t.trigger()
	for origin := range spec.origins() {
		t.sources[origin] = l.sources.open(origin, spec.Account, t.trigger)
	}
	l.mu.Lock()
	l.trees[t] = struct{}{}
	l.mu.Unlock()
	go t.run(ctx)
	return t, nil
}

// checkSources returns an error if a source is of a kind that this host does not read.
func (l *Library) checkSources(spec Spec) error {
	for i, source := range spec.Sources {
		if source.Flux != nil && l.Artifacts == nil {
			return fmt.Errorf("scriptSources[%d].flux: this host reads no artifacts of Flux: start it with --flux-artifact-hosts, or use configMap", i)
		}
		if source.Directory != nil && l.Root == "" {
			return fmt.Errorf("scriptSources[%d].directory: this host has no directory for scripts: "+
				"start it with --scripts-dir, or use configMap", i)
		}
	}
	return nil
}

// loaded finds a revision of that content among those that serve, so that
// definitions with the same scripts and trust domain share its programs.
func (l *Library) loaded(content fingerprint, trustDomain string) *Revision {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.trees {
		if r := t.Current(); r.is(content, trustDomain) {
			return r
		}
	}
	return nil
}

func (l *Library) forget(t *Tree) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.trees, t)
}
