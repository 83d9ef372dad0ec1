package scripts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrOtherHooks means that a revision has scripts for other hooks than the definition, and can't serve it.
var ErrOtherHooks = errors.New("it has scripts for other hooks than the definition")

// ErrLoading means that a revision is being loaded from the archive.
var ErrLoading = errors.New("the revision is being loaded from the archive")

const (
	// maxRemembered is how many revisions of a definition stay in memory besides the one that serves and those that are retained.
	maxRemembered = 2
	// maxLoads is how many revisions of a tree may wait for the archive at once, and maxLoadErrors of how many it is known that they can't be
	// had.
	maxLoads, maxLoadErrors = 8, 32
)

// revisions are those of one definition that are in memory.
type revisions struct {
	mu sync.Mutex
	// known are those that serve, served, or were asked for, the one used last at the end.
	known []*Revision

	unarchived unarchived
}

// revisionsFor returns those of a definition: another tree of the same one may be open, with an earlier spec.
func (l *Library) revisionsFor(spec Spec) *revisions {
	l.mu.Lock()
	defer l.mu.Unlock()
	for t := range l.trees {
		if t.spec.isOfSameDefinition(spec) {
			return t.kept.revisions
		}
	}
	return &revisions{}
}

// remember makes r the revision that was used last, and forgets the oldest of too many that are not retained.
func (m *revisions) remember(r *Revision, retained []RevisionID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known = append(slices.DeleteFunc(m.known, func(k *Revision) bool { return k.ID == r.ID }), r)
	room := maxRemembered
	// Revisions that are retained take no room of others.
	for i := len(m.known) - 1; i >= 0; i-- { //nolint:modernize // It deletes from what it goes through.
		if slices.ContainsFunc(retained, m.known[i].ID.IsKnownAs) {
			continue
		}
		if room--; room < 0 {
			m.known = slices.Delete(m.known, i, i+1)
		}
	}
}

// find returns the revision of an ID, which then is the one that was used last, or nil. It is an error if the first digits are those of
// several.
func (m *revisions) find(id RevisionID) (*Revision, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := slices.IndexFunc(m.known, func(r *Revision) bool { return r.ID.IsKnownAs(id) })
	if at < 0 {
		return nil, nil
	}
	found := m.known[at]
	for _, r := range m.known[at+1:] {
		if r.ID.IsKnownAs(id) {
			return nil, fmt.Errorf("revision %s: there are %s and %s: name all 64 digits", id, found.ID, r.ID)
		}
	}
	m.known = append(slices.Delete(m.known, at, at+1), found)
	return found, nil
}

// has reports whether a revision is in memory: the sources may have loaded it in their own trust domain.
func (m *revisions) has(id RevisionID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.known, func(r *Revision) bool { return r.ID == id })
}

// Revision returns a revision that serves, was loaded by this process, or is archived, by its whole ID or its first 16 digits.
// The first call for one that is only archived begins to load it and returns ErrLoading; the function that Open was given is called once
// that has ended, whatever its result. An error other than ErrLoading says why it can't be had; it is tried again after a while.
// Revision makes no request itself, and does not wait for one.
func (t *Tree) Revision(id RevisionID) (*Revision, error) {
	if err := id.check(); err != nil {
		return nil, err
	}
	r, err := t.kept.revisions.find(id)
	switch {
	case err != nil:
		return nil, err
	// Trees of other specs of the definition share the revisions in memory, and may have loaded it for other hooks.
	case r != nil && !slices.Equal(slices.Sorted(maps.Keys(r.Programs)), t.spec.hookNames()):
		return nil, fmt.Errorf("revision %s: %w: for %q, and not for %q", id.Short(), ErrOtherHooks, slices.Sorted(maps.Keys(r.Programs)),
			t.spec.hookNames())
	case r != nil:
		return r, nil
	}
	if t.kept.loads == nil {
		return nil, fmt.Errorf("revision %s: it did not serve in this process, and nothing is archived", id.Short())
	}
	return nil, t.kept.loads.begin(id)
}

// check returns an error if id is neither 64 nor 16 digits.
func (id RevisionID) check() error {
	digits := strings.Trim(string(id), "0123456789abcdef") == ""
	if digits && (len(id) == 64 || string(id) == id.Short() && len(id) == 16) {
		return nil
	}
	return fmt.Errorf("revision %q: an ID has 64 hexadecimal digits, or the first 16 of them", string(id))
}

// remember keeps a revision in memory. It may be nil.
func (t *Tree) remember(r *Revision) {
	if r == nil {
		return
	}
	retained := []RevisionID{t.Current().id()}
	if t.spec.Retained != nil {
		retained = append(retained, t.spec.Retained()...)
	}
	t.kept.revisions.remember(r, retained)
}

// retained returns what Spec.Retained does, for the archive.
func (t *Tree) retained() []string {
	if t.spec.Retained == nil {
		return nil
	}
	var ids []string
	for _, id := range t.spec.Retained() {
		ids = append(ids, string(id))
	}
	return ids
}

// loads are the revisions of one tree that are being loaded from the archive, or could not be. One is loaded at a time.
type loads struct {
	ctx  context.Context
	tree *Tree
	turn chan struct{} // has room for one

	mu     sync.Mutex
	byID   map[RevisionID]*loadResult
	active int
}

// loadResult is what is known of loading a revision.
type loadResult struct {
	active bool
	err    error // of the last attempt that has ended, or ErrLoading
	retry  time.Time
}

func newLoads(ctx context.Context, t *Tree) *loads {
	return &loads{ctx: ctx, tree: t, turn: make(chan struct{}, 1), byID: map[RevisionID]*loadResult{}}
}

// begin starts to load a revision unless that goes on or failed a short time ago. It returns ErrLoading, or why the last attempt failed.
func (l *loads) begin(id RevisionID) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.byID[id]
	switch {
	case known != nil && (known.active || time.Now().Before(known.retry)):
		return known.err
	case l.active == maxLoads && known != nil:
		return known.err
	case l.active == maxLoads:
		return ErrLoading // A later call begins it: changed is called at the end of any other.
	}
	if known == nil {
		l.makeRoom()
		known = &loadResult{err: ErrLoading}
		l.byID[id] = known
	}
	known.active = true
	l.active++
	go l.load(id)
	return known.err
}

// makeRoom forgets what could not be loaded if it is too much. It forgets all of it, as what is lost is only that a retry has to wait.
func (l *loads) makeRoom() {
	if len(l.byID) < maxLoadErrors {
		return
	}
	for id, known := range l.byID {
		if !known.active {
			delete(l.byID, id)
		}
	}
}

// load loads a revision, and tells the tree's owner that it has.
func (l *loads) load(id RevisionID) {
	if take(l.ctx, l.turn) != nil {
		return
	}
	r, err := l.tree.restore(l.ctx, id)
	<-l.turn
	if l.ctx.Err() != nil {
		return
	}
	if err == nil && !l.tree.kept.revisions.has(r.ID) {
		l.tree.remember(r)
	}
	l.mu.Lock()
	l.active--
	if err == nil { // It is in memory now, where Revision looks first.
		delete(l.byID, id)
	} else {
		l.byID[id] = &loadResult{
			err:   fmt.Errorf("revision %s can't be had: %w: it is tried again after %s", id.Short(), err, retryAfter),
			retry: time.Now().Add(retryAfter),
		}
	}
	l.mu.Unlock()
	l.tree.changed()
}
