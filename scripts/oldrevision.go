package scripts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// ErrLoading is returned for a revision that is being loaded.
var ErrLoading = errors.New("the revision is being loaded")

// oldRevision is a revision besides the one that serves.
type oldRevision struct {
	revision *Revision
	err      error // ErrLoading while it is being loaded
	at       time.Time
}

// Revision returns a revision that serves, was loaded by this process, or is archived, by its whole ID or its first 16 digits. The first
// call for one that is only archived begins to load it and returns ErrLoading; the function that Open was given is called once that has
// ended, whatever came of it. An error other than ErrLoading says why it can't be had; it is tried again after a while.
func (t *Tree) Revision(id RevisionID) (*Revision, error) {
	if current := t.Current(); current != nil && current.ID.isKnownAs(id) {
		return current, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for known, old := range t.old {
		if known.isKnownAs(id) && old.revision != nil {
			return old.revision, nil
		}
	}
	if old := t.old[id]; old != nil && (errors.Is(old.err, ErrLoading) || time.Since(old.at) < retryAfter) {
		return nil, old.err
	}
	if t.archiver == nil {
		return nil, fmt.Errorf("revision %s is not in use, and the scripts have no archive", id.Short())
	}
	if t.old == nil {
		t.old = map[RevisionID]*oldRevision{}
	}
	t.old[id] = &oldRevision{err: ErrLoading, at: time.Now()}
	go t.loadOld(id)
	return nil, ErrLoading
}

// loadOld loads an archived revision.
func (t *Tree) loadOld(id RevisionID) {
	r, err := t.archived(context.Background(), id)
	t.mu.Lock()
	t.old[id] = &oldRevision{revision: r, err: err, at: time.Now()}
	t.mu.Unlock()
	t.changed()
}

// archived returns the archived revision of an ID.
func (t *Tree) archived(ctx context.Context, id RevisionID) (*Revision, error) {
	ctx, cancel := context.WithTimeout(ctx, compileTimeout)
	defer cancel()
	archived, err := t.archiver.history.Load(ctx, string(id))
	if err != nil {
		return nil, err
	}
	d := newModuleTree()
	maps.Copy(d.files, archived.Files)
	d.addInline(t.spec, t.library.Engines)
	content := fingerprintOf(d.files, t.hooks)
	if !content.id().isKnownAs(id) {
		return nil, fmt.Errorf("what is kept of revision %s has other files, or the hooks had other settings then", id.Short())
	}
	d.trustDomain = restoredDomain(t.spec.Definition, content.id())
	r, problems := t.build(ctx, d, content)
	if problems != nil {
		return nil, fmt.Errorf("revision %s does not load any more: %w", id.Short(), problems[0].Err)
	}
	return r, nil
}

// keepOld keeps the revision that served before, if it is in use. The caller holds mu.
func (t *Tree) keepOld(before, now *Revision) {
	retained := map[RevisionID]bool{}
	if t.spec.Retained != nil {
		for _, id := range t.spec.Retained() {
			retained[id] = true
		}
	}
	if before != nil && before != now {
		if t.old == nil {
			t.old = map[RevisionID]*oldRevision{}
		}
		t.old[before.ID] = &oldRevision{revision: before}
	}
	for id, old := range t.old {
		if old.revision != nil && !retained[old.revision.ID] && old.revision != before {
			delete(t.old, id)
		}
	}
}
