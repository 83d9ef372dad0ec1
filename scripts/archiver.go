package scripts

import (
	"context"
	"time"

	"github.com/libretto-k8s/libretto/scripts/archive"
)

const (
	// minArchiveInterval is the minimum time between two writes for one tree, so
	// that a burst of edits is no burst of writes. archivePause is how many times as long as a write
	// took is waited, so that edits of a large tree don't keep the host busy with packing.
	minArchiveInterval = 100 * time.Millisecond
	archivePause       = 4
	// archiveRetry and maxArchiveRetry are the first and the last delay before a retry.
	archiveRetry    = time.Second
	maxArchiveRetry = time.Minute
)

// archiver archives the revisions of one tree in the background. If several wait, it archives
// only the newest.
type archiver struct {
	history *archive.History
	next    chan loadedFiles // has room for one
	report  func(RevisionID, error)
	offered RevisionID // belongs to the tree
}

// loadedFiles are the files of a revision that loaded.
type loadedFiles struct {
	id RevisionID
	archive.Revision
}

func newArchiver(c Config, spec Spec, retained func() []string, tell func(RevisionID, error)) *archiver {
	return &archiver{
		history: &archive.History{
			Location: *spec.Archive, Client: c.Client, Metadata: c.Metadata, Log: c.Log, Retained: retained, RetainedKnown: spec.RetainedKnown,
		},
		next: make(chan loadedFiles, 1), report: tell,
	}
}

// offer queues a revision. It replaces one that still waits.
func (a *archiver) offer(id RevisionID, r archive.Revision) {
	if a.offered == id {
		return
	}
	a.offered = id
	select {
	case <-a.next:
	default:
	}
	a.next <- loadedFiles{id, r}
}

// run archives offered revisions until ctx ends.
func (a *archiver) run(ctx context.Context) {
	var pause <-chan time.Time
	var waiting loadedFiles
	again := archiveRetry
	for {
		select {
		case <-ctx.Done():
			return
		case waiting = <-a.next:
			again = archiveRetry
			if pause != nil {
				continue // It is kept when the pause is over.
			}
		case <-pause:
		}
		pause = nil
		if waiting.id == "" {
			continue
		}
		began := time.Now()
		err := a.history.Keep(ctx, string(waiting.id), waiting.Revision)
		if ctx.Err() != nil {
			return
		}
		a.report(waiting.id, err)
		if err != nil {
			pause, again = time.After(again), min(2*again, maxArchiveRetry)
			continue
		}
		pause, waiting = time.After(max(minArchiveInterval, archivePause*time.Since(began))), loadedFiles{}
	}
}
