package scripts

import (
	"context"
	"errors"
	"time"
)

// ErrLoading is the error for a revision that is being loaded.
var ErrLoading = errors.New("the revision is being loaded")

// otherRevision is a revision besides the one that serves.
type otherRevision struct {
	*Revision
	err     error
	loading bool
	since   time.Time
}

// Revision returns a revision that serves, was loaded by this process, or is archived. The first call for one that is only archived begins
// to load it and returns ErrLoading; the function that Open was given is called once that has ended, whatever came of it. An error other than
// ErrLoading says why it can't be had; it is tried again after a while.
func (t *Tree) Revision(id RevisionID) (*Revision, error) {
	if current := t.Current(); current.id().isKnownAs(id) && current != nil {
		return current, nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	other := t.others[id]
	switch {
	case other.Revision != nil:
		return other.Revision, nil
	case other.loading:
		return nil, ErrLoading
	case other.err != nil && time.Since(other.since) < retryAfter:
		return nil, other.err
	case t.archiver == nil:
		return nil, errors.New("it is not archived")
	}
	t.keepOther(id, otherRevision{loading: true})
	go t.loadOther(id)
	return nil, ErrLoading
}

// keepOther notes what is known of a revision. The caller holds mu.
func (t *Tree) keepOther(id RevisionID, other otherRevision) {
	if t.others == nil {
		t.others = map[RevisionID]otherRevision{}
	}
	t.others[id] = other
}

func (t *Tree) loadOther(id RevisionID) {
	r, err := t.restoreID(context.Background(), id)
	t.mu.Lock()
	t.keepOther(id, otherRevision{Revision: r, err: err, since: time.Now()})
	t.mu.Unlock()
	t.changed()
}
