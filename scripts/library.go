// Package scripts says where the scripts of hooks come from, keeps them watched
// and compiled, and swaps in what changed.
//
// A Library serves all definitions of a process. Each definition that has
// scripts opens a Tree: the module tree that its sources give together. The
// tree is read whole, compiled whole and swapped in whole, as a Revision that
// never changes; calls that began on the one before end on it. What can't be
// loaded does not disturb what is: the last good revision goes on, and the
// tree's State says what is wrong and where.
package scripts

import (
	"context"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"

	"github.com/libretto-k8s/libretto/engines"
)

// Library loads the scripts of all definitions. It is used by many goroutines at once.
type Library struct {
	registry *engines.Registry
	watches  *watches
	log      logr.Logger

	mu    sync.Mutex
	trees map[*Tree]struct{}
}

// NewLibrary makes a library that reads ConfigMaps through client and compiles with the engines of registry.
func NewLibrary(client kubernetes.Interface, registry *engines.Registry, log logr.Logger) *Library {
	return &Library{
		registry: registry,
		watches:  newWatches(client, log),
		log:      log,
		trees:    map[*Tree]struct{}{},
	}
}

// Open watches the sources of spec and returns at once, before anything is
// loaded. An error means that spec can never load, whatever the sources hold.
//
// After every change of Current or State the tree calls changed, from one
// goroutine of its own; changes that come while it runs are told together.
func (l *Library) Open(spec Spec, changed func()) (*Tree, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	hooks, err := spec.encodeHooks()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &Tree{library: l, spec: spec, hooks: hooks, changed: changed, cancel: cancel, wake: make(chan struct{}, 1)}
	t.wake <- struct{}{}
	t.sources = l.watches.take(spec.configMaps(), t.wake)
	l.mu.Lock()
	l.trees[t] = struct{}{}
	l.mu.Unlock()
	go t.run(ctx)
	return t, nil
}

// loaded finds a revision of that content among those that serve, so that
// definitions with the same scripts share its programs.
func (l *Library) loaded(content fingerprint) *Revision {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.trees {
		if r := t.Current(); r.is(content) {
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
