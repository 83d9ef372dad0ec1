package suite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
)

// Inputs are the files and directories that results depend on. The value of a directory is whether all files in it matter, or only
// manifests.
type Inputs map[string]bool

// DependOn reports whether results depend on a file.
func (i Inputs) DependOn(name string) bool {
	if _, known := i[name]; known {
		return true
	}
	all, known := i[filepath.Dir(name)]
	base := filepath.Base(name)
	switch {
	case !known, strings.HasPrefix(base, "."), strings.HasSuffix(base, "~"):
		return false
	case all:
		return true
	default:
		return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(base)) && !strings.HasSuffix(base, controllertest.FileSuffix)
	}
}

// Watcher waits for changes of files.
type Watcher struct{ watcher *fsnotify.Watcher }

// NewWatcher returns a watcher, which must be closed.
func NewWatcher() (*Watcher, error) {
	watcher, err := fsnotify.NewWatcher()
	return &Watcher{watcher}, err
}

// Close ends the watches.
func (w *Watcher) Close() error { return w.watcher.Close() }

// Add watches directories, and those of files, in addition to what is watched. Those that do not exist are left out.
func (w *Watcher) Add(names ...string) error {
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || !info.IsDir() {
			name = filepath.Dir(name)
		}
		if err := w.watcher.Add(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// How long it must be quiet before changes are reported, and how long to wait for that: editors and tools write several files.
const (
	debounceTime  = 50 * time.Millisecond
	debounceLimit = time.Second
)

// Next waits for changes and returns the names of what has changed, sorted.
func (w *Watcher) Next(ctx context.Context) ([]string, error) {
	var changed []string
	var quiet, limit <-chan time.Time
	for {
		select {
		case event, open := <-w.watcher.Events:
			if !open {
				return nil, fsnotify.ErrClosed
			}
			if event.Op == fsnotify.Chmod {
				continue
			}
			changed = append(changed, filepath.Clean(event.Name))
			if quiet = time.After(debounceTime); limit == nil {
				limit = time.After(debounceLimit)
			}
			continue
		case err := <-w.watcher.Errors:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-quiet:
		case <-limit:
		}
		slices.Sort(changed)
		return slices.Compact(changed), nil
	}
}
