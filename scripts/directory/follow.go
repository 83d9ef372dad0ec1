package directory

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
)

const (
	// debounceTime is how long a directory must have no changes before it is read, because
	// files are changed one after another. debounceLimit ends the wait.
	debounceTime  = 50 * time.Millisecond
	debounceLimit = time.Second
)

// Follower follows one directory.
type Follower struct {
	// Root is --scripts-dir, and Folder the slash-separated path below it.
	Root, Folder string
	// Without is the name of entries that are left out.
	Without string
	Log     logr.Logger
	// Changed is given what the directory holds, at first and after each change. It
	// is called by the goroutine of Run, and must not change what it is given.
	Changed func(Contents)
}

// Run follows the directory until ctx ends, even if the directory does not exist.
func (f *Follower) Run(ctx context.Context) {
	w, err := newWatches()
	if err != nil && hasEvents {
		f.Log.Error(err, "changes of a script directory are noticed late", "directory", f.Folder, "every", pollInterval.String())
	}
	defer w.close()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	last := f.read(w, nil)
	f.Changed(last)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-w.changes:
			Debounce(ctx, w.changes)
		}
		if now := f.read(w, last.stamps); !now.equal(last) {
			last = now
			f.Changed(now)
		} else {
			last.stamps = now.stamps
		}
	}
}

// read reads the directory once all of its folders are watched, so that no
// change in between is missed.
func (f *Follower) read(w *watches, before stamps) Contents {
	now := read(f.Root, f.Folder, f.Without, before, time.Now())
	for range maxReads {
		if !w.set(append(f.ancestors(), f.diskPaths(now.folders)...)) {
			break
		}
		now = read(f.Root, f.Folder, f.Without, now.stamps, time.Now())
	}
	return now
}

// ancestors returns the directories from the root down to the folder, whose creation and deletion
// matter too. Without a root it is the one that the root is expected in.
func (f *Follower) ancestors() []string {
	if _, err := os.Stat(f.Root); err != nil {
		return []string{filepath.Dir(f.Root)}
	}
	dirs := []string{f.Root}
	for dir := path.Dir(f.Folder); dir != "."; dir = path.Dir(dir) {
		dirs = append(dirs, filepath.Join(f.Root, filepath.FromSlash(dir)))
	}
	return dirs
}

func (f *Follower) diskPaths(folders []string) []string {
	var dirs []string
	for _, folder := range folders {
		dirs = append(dirs, filepath.Join(f.Root, filepath.FromSlash(folder)))
	}
	return dirs
}

// Debounce waits until there are no events for debounceTime, but no longer than debounceLimit.
func Debounce(ctx context.Context, events <-chan struct{}) {
	limit := time.After(debounceLimit)
	for {
		select {
		case <-events:
		case <-time.After(debounceTime):
			return
		case <-limit:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (c Contents) equal(o Contents) bool {
	return (c.Files == nil) == (o.Files == nil) && maps.Equal(c.Files, o.Files) &&
		slices.Equal(c.Problems, o.Problems) && fmt.Sprint(c.Err) == fmt.Sprint(o.Err)
}
