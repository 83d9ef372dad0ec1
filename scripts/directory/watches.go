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
	// changes has a value if something has changed, or events were lost, since it was taken from.
	changes chan struct{}
}

// newWatches returns watches without events if there is an error.
func newWatches() (*watches, error) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return &watches{}, err
	}
	w := &watches{watcher: watcher, dirs: map[string]fs.FileInfo{}, changes: make(chan struct{}, 1)}
	go w.drain()
	return w, nil
}

// drain takes all events and errors until the watcher is closed. The watcher has its lock while it sends an error, as of a directory that
// was renamed and removed, and set needs that lock: it must not be the one to take them.
func (w *watches) drain() {
	events, errs := w.watcher.Events, w.watcher.Errors
	for events != nil || errs != nil {
		var open bool
		select {
		case _, open = <-events:
			if !open {
				events = nil
			}
		case _, open = <-errs:
			if !open {
				errs = nil
			}
		}
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
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
