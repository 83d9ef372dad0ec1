package directory

import (
	"io/fs"
	"os"

	"github.com/fsnotify/fsnotify"
)

// watches are the watched directories. Events are about their entries, not about what
// is below.
type watches struct {
	watcher *fsnotify.Watcher // nil if there can be none
	dirs    map[string]fs.FileInfo
	events  <-chan fsnotify.Event
	errors  <-chan error
}

// newWatches returns watches without events if there is an error.
func newWatches() (*watches, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return &watches{}, err
	}
	return &watches{watcher: watcher, dirs: map[string]fs.FileInfo{}, events: watcher.Events, errors: watcher.Errors}, nil
}

func (w *watches) close() {
	if w.watcher != nil {
		_ = w.watcher.Close() // There is nothing left to lose.
	}
}

// set makes the watched directories those, and reports whether any is new. What can't
// be watched, such as one that is not there, is left to the Follower's ticker.
func (w *watches) set(dirs []string) (added bool) {
	if w.watcher == nil {
		return false
	}
	w.forget(dirs)
	for _, dir := range dirs {
		info, err := os.Stat(dir)
		if err != nil || w.dirs[dir] != nil || w.watcher.Add(dir) != nil {
			continue
		}
		w.dirs[dir], added = info, true
	}
	return added
}

// forget ends the watches that are not wanted any more, and those of a directory
// that is another one now under the same name.
func (w *watches) forget(wanted []string) {
	alive, kept := setOf(w.watcher.WatchList()), setOf(wanted)
	for dir, before := range w.dirs {
		now, err := os.Stat(dir)
		if err == nil && os.SameFile(before, now) && kept[dir] && alive[dir] {
			continue
		}
		_ = w.watcher.Remove(dir) // If it fails, the watch is gone already.
		delete(w.dirs, dir)
	}
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}
