package scripts

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/scripts/archive"
)

const (
	// minArchiveInterval is the minimum time between two writes for one tree, so
	// that a burst of edits is no burst of writes. archivePause is how many times as long as a write
	// took is waited, so that edits of a large tree don't keep the host busy with packing. maxArchivePause
	// bounds that: a write may have waited for an API server, and what is not archived is lost with the process.
	minArchiveInterval = 100 * time.Millisecond
	archivePause       = 4
	maxArchivePause    = time.Second
	// archiveRetry and maxArchiveRetry are the first and the last delay before a retry.
	archiveRetry    = time.Second
	maxArchiveRetry = time.Minute
)

// archiver archives the revisions of one tree in the background. Of several that wait, it archives the newest and those that are in use.
type archiver struct {
	history    *archive.History
	unarchived *unarchived
	wake       chan struct{} // has room for one
	report     func(RevisionID, error)
	offered    RevisionID // belongs to the tree
}

// loadedFiles are the files of a revision that loaded, for the archive in a namespace.
type loadedFiles struct {
	id        RevisionID
	namespace string
	archive.Revision
}

// unarchived are the revisions of one definition that wait for the archive, the newest at the end. Trees of the same definition share them:
// what one has not archived when it is closed, the next one does.
type unarchived struct {
	mu      sync.Mutex
	waiting []loadedFiles
	// last is what was archived last, by any of the trees.
	last loadedFiles
}

// add makes a revision wait, and those before it no longer that are not in use.
func (u *unarchived) add(r loadedFiles, used []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	isUsed := func(w loadedFiles) bool {
		return slices.ContainsFunc(used, func(id string) bool { return w.id.IsKnownAs(RevisionID(id)) })
	}
	u.waiting = slices.DeleteFunc(u.waiting, func(w loadedFiles) bool { return w.id == r.id || !isUsed(w) })
	u.waiting = append(u.waiting, r)
}

// in returns those that wait for the archive in a namespace.
func (u *unarchived) in(namespace string) []loadedFiles {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(u.waiting), func(w loadedFiles) bool { return w.namespace != namespace })
}

// remove notes that a revision is archived.
func (u *unarchived) remove(r loadedFiles) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.waiting = slices.DeleteFunc(u.waiting, func(w loadedFiles) bool { return w.id == r.id })
	u.last = loadedFiles{id: r.id, namespace: r.namespace}
}

// isLast reports whether a revision is what was archived last in a namespace.
func (u *unarchived) isLast(id RevisionID, namespace string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.last.id == id && u.last.namespace == namespace
}

func newArchiver(c Config, spec Spec, waiting *unarchived, retained func() []string, tell func(RevisionID, error)) *archiver {
	a := &archiver{
		history: &archive.History{
			Location: *spec.Archive, Client: c.Client, Metadata: c.Metadata, Log: c.Log, Retained: retained, RetainedKnown: spec.RetainedKnown,
		},
		unarchived: waiting, wake: make(chan struct{}, 1), report: tell,
	}
	a.wake <- struct{}{}
	return a
}

// offer makes a revision wait for the archive.
func (a *archiver) offer(id RevisionID, r archive.Revision) {
	if a.offered == id {
		return
	}
	a.offered = id
	a.unarchived.add(loadedFiles{id, a.history.Namespace, r}, a.history.Retained())
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// run archives offered revisions until ctx ends.
func (a *archiver) run(ctx context.Context) {
	var pause <-chan time.Time
	again := archiveRetry
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
			again = archiveRetry
			if pause != nil {
				continue // It is kept when the pause is over.
			}
		case <-pause:
		}
		pause = nil
		began := time.Now()
		switch tried, failed := a.archive(ctx); {
		case ctx.Err() != nil:
			return
		case failed:
			pause, again = time.After(again), min(2*again, maxArchiveRetry)
		case tried:
			pause = time.After(pauseAfter(time.Since(began)))
		}
	}
}

// pauseAfter returns how long to wait after archiving took so long.
func pauseAfter(took time.Duration) time.Duration {
	return min(max(minArchiveInterval, archivePause*took), maxArchivePause)
}

// archive archives what waits, the oldest first. What can't be archived goes on waiting.
func (a *archiver) archive(ctx context.Context) (tried, failed bool) {
	for _, r := range a.unarchived.in(a.history.Namespace) {
		err := a.history.Save(ctx, string(r.id), r.Revision)
		if ctx.Err() != nil {
			return tried, failed
		}
		if tried = true; err != nil {
			failed = true
		} else {
			a.unarchived.remove(r)
		}
		a.report(r.id, err)
	}
	return tried, failed
}

// IsArchived reports whether a revision of the sources that Current returned, and another one that served before, are in the archive, so
// that the next process has both. Without an archive there is nothing to wait for.
func (t *Tree) IsArchived(newest, before RevisionID) bool {
	if t.kept.archiver == nil {
		return true
	}
	waits := func(w loadedFiles) bool { return w.id.IsKnownAs(before) }
	archived := t.State().Archived == newest || t.kept.archiver.unarchived.isLast(newest, t.kept.archiver.history.Namespace)
	return archived && !slices.ContainsFunc(t.kept.archiver.unarchived.in(t.kept.archiver.history.Namespace), waits)
}
