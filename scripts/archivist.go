package scripts

import (
	"context"
	"time"

	"github.com/libretto-k8s/libretto/scripts/archive"
)

const (
	// keepPause is the least time between two revisions of a tree that are kept, so
	// that a burst of edits is no burst of writes.
	keepPause = 100 * time.Millisecond
	// keepAgain is the time after which keeping is tried again, at first and at last.
	keepAgain     = time.Second
	keepAgainLast = time.Minute
)

// archivist keeps the revisions of one tree, the newest first: keeping never holds up
// serving, and of several that wait only the newest is kept.
type archivist struct {
	history *archive.History
	next    chan loadedFiles // has room for one
	tell    func(error)
	offered string // belongs to the tree
}

// loadedFiles are those of a revision that loaded.
type loadedFiles struct {
	id    string
	files map[string]string
}

func newArchivist(c Config, place archive.Place, tell func(error)) *archivist {
	return &archivist{
		history: &archive.History{Place: place, Client: c.Client, Metadata: c.Metadata},
		next:    make(chan loadedFiles, 1), tell: tell,
	}
}

// offer asks for a revision to be kept, in place of one that still waits for it.
func (a *archivist) offer(id string, files map[string]string) {
	if a.offered == id {
		return
	}
	a.offered = id
	select {
	case <-a.next:
	default:
	}
	a.next <- loadedFiles{id, files}
}

// run keeps what is offered until ctx ends.
func (a *archivist) run(ctx context.Context) {
	var pause <-chan time.Time
	var waiting loadedFiles
	again := keepAgain
	for {
		select {
		case <-ctx.Done():
			return
		case waiting = <-a.next:
			again = keepAgain
			if pause != nil {
				continue // It is kept when the pause is over.
			}
		case <-pause:
		}
		pause = nil
		if waiting.id == "" {
			continue
		}
		err := a.history.Keep(ctx, waiting.id, waiting.files)
		if ctx.Err() != nil {
			return
		}
		a.tell(err)
		if err != nil {
			pause, again = time.After(again), min(2*again, keepAgainLast)
			continue
		}
		pause, waiting = time.After(keepPause), loadedFiles{}
	}
}
