// Package directory reads script files below one directory of the host and watches them
// for changes. It does not follow links out of that directory.
package directory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

const (
	// MaxBytes is how much the files of one directory may hold together.
	MaxBytes = 1 << 20
	// maxFiles and maxDepth bound what is looked at for them.
	maxFiles = 1000
	maxDepth = 16
	// maxReads is how often a directory is read whose files are swapped meanwhile.
	maxReads = 5
)

// Contents is what a directory holds at one moment.
type Contents struct {
	// Files are the texts by their slash-separated path below the directory. It is
	// nil if there is no such directory.
	Files map[string]string
	// Problems are what is wrong with single files, in the order of their paths.
	Problems []Problem
	// Err is why the directory as a whole can't be read.
	Err error

	// folders are the directories that were looked into, below the root.
	folders []string
}

// Problem is what is wrong with one file.
type Problem struct{ Path, Message string }

// Read returns the files below folder, a slash-separated path below root. Entries whose
// names begin with a dot or end with a tilde are left out. Of a volume that Kubernetes
// has mounted, it returns the files of one moment.
func Read(root, folder string) Contents {
	r, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return Contents{}
	}
	if err != nil {
		return Contents{Err: fmt.Errorf("--scripts-dir: %w", err)}
	}
	defer r.Close()
	for range maxReads {
		w := &walk{root: r, files: map[string]string{}, swaps: map[string]string{}}
		contents := w.from(folder)
		if w.isConsistent() {
			return contents
		}
	}
	return Contents{Err: errors.New("it is swapped faster than it can be read")}
}

// walk is one reading of a directory.
type walk struct {
	root     *os.Root
	files    map[string]string
	problems []Problem
	folders  []string
	bytes    int
	entries  int
	// swaps are the links by which Kubernetes swaps a volume's files, and where they led.
	swaps map[string]string
}

// dataLink leads to the files of a mounted volume. The kubelet writes a new folder,
// and then renames a new link over this one.
const dataLink = "..data"

func (w *walk) from(folder string) Contents {
	info, err := w.root.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Contents{}
	case err != nil:
		return Contents{Err: fmt.Errorf("%w: it must not lead out of --scripts-dir", err)}
	case !info.IsDir():
		return Contents{Err: errors.New("it is a file: name the directory that holds it")}
	}
	if err := w.folder(folder, "", nil); err != nil {
		return Contents{Err: err, folders: w.folders}
	}
	return Contents{Files: w.files, Problems: w.problems, folders: w.folders}
}

// isConsistent reports whether what was read is of one moment.
func (w *walk) isConsistent() bool {
	for link, target := range w.swaps {
		if now, err := w.root.Readlink(link); err != nil || now != target {
			return false
		}
	}
	return true
}

// folder reads one directory; shown is its path in the tree, and chain what it lies in.
func (w *walk) folder(folder, shown string, chain []fs.FileInfo) error {
	w.folders = append(w.folders, folder)
	if target, err := w.root.Readlink(path.Join(folder, dataLink)); err == nil && !strings.Contains(target, "/") {
		w.swaps[path.Join(folder, dataLink)] = target
		folder = path.Join(folder, target)
	}
	info, err := w.root.Stat(folder)
	if err != nil {
		return err
	}
	for _, outer := range chain {
		if os.SameFile(outer, info) {
			w.addProblem(shown, "is a link to a directory that it lies in: take it away")
			return nil
		}
	}
	entries, err := fs.ReadDir(w.root.FS(), folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := w.entry(entry, folder, shown, append(chain[:len(chain):len(chain)], info)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(entry fs.DirEntry, folder, shown string, chain []fs.FileInfo) error {
	if isIgnored(entry.Name()) {
		return nil
	}
	if w.entries++; w.entries > maxFiles {
		return fmt.Errorf("it has more than %d files: name the folder that holds the scripts", maxFiles)
	}
	at, shown := path.Join(folder, entry.Name()), path.Join(shown, entry.Name())
	info, err := w.root.Stat(at)
	switch {
	case err != nil && entry.Type()&fs.ModeSymlink != 0:
		w.addProblem(shown, "is a link that leads nowhere, or out of --scripts-dir: take it away, or make it a relative one")
	case errors.Is(err, fs.ErrNotExist):
		// It was deleted meanwhile, and there is an event for that.
	case err != nil:
		return err
	case info.IsDir() && len(chain) >= maxDepth:
		return fmt.Errorf("%s: folders are nested deeper than %d", shown, maxDepth)
	case info.IsDir():
		return w.folder(at, shown, chain)
	case !info.Mode().IsRegular():
		w.addProblem(shown, "is no regular file: take it away")
	default:
		return w.file(at, shown)
	}
	return nil
}

// isIgnored reports whether an entry is no script: it is of Kubernetes, an editor or version
// control.
func isIgnored(name string) bool { return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") }

// file reads one file. Opening must not wait, in case it has become a pipe since it was looked at.
func (w *walk) file(at, shown string) error {
	f, err := w.root.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if errors.Is(err, fs.ErrPermission) {
		w.addProblem(shown, "may not be read by the host: correct its mode")
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		w.addProblem(shown, "is no regular file: take it away")
		return err
	}
	text, err := io.ReadAll(io.LimitReader(f, int64(MaxBytes-w.bytes)+1))
	if err != nil {
		return err
	}
	if w.bytes += len(text); w.bytes > MaxBytes {
		return fmt.Errorf("its files have more than %d KiB together, from %s on: take out what is no script", MaxBytes>>10, shown)
	}
	w.files[shown] = string(text)
	return nil
}

func (w *walk) addProblem(path, message string) {
	w.problems = append(w.problems, Problem{Path: path, Message: message})
}
