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
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	// MaxBytes is how much the files of one directory may hold together.
	MaxBytes = engines.MaxSourceBytes
	// MaxFiles and maxDepth bound what is looked at for them. They count folders too.
	MaxFiles = 10_000
	maxDepth = 32
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
	// stamps tell which files need not be read again.
	stamps stamps
}

// Problem is what is wrong with one file.
type Problem struct{ Path, Message string }

// Read returns the files below folder, a slash-separated path below root. Entries whose
// names begin with a dot or end with a tilde are left out. Of a volume that Kubernetes
// has mounted, it returns the files of one moment.
func Read(root, folder string) Contents { return read(root, folder, "", nil, time.Now()) }

// ReadWithout is Read without entries of a name.
func ReadWithout(name, root, folder string) Contents {
	return read(root, folder, name, nil, time.Now())
}

// read is Read at a time, without entries of a name. It reads no file again that has a stamp in before.
func read(root, folder, without string, before stamps, now time.Time) Contents {
	r, err := os.OpenRoot(root)
	if errors.Is(err, fs.ErrNotExist) {
		return Contents{}
	}
	if err != nil {
		return Contents{Err: fmt.Errorf("--scripts-dir: %w", err)}
	}
	defer r.Close()
	for range maxReads {
		w := &walk{
			root: r, files: map[string]string{}, swaps: map[string]string{},
			without: without, before: before, stamps: stamps{}, began: now, buffer: make([]byte, 32<<10),
		}
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
	// without is the name of entries that are left out.
	without string
	// before are the stamps of the reading before this one, which began at that time, and stamps those of this one.
	before, stamps stamps
	began          time.Time
	buffer         []byte
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
	return Contents{Files: w.files, Problems: w.problems, folders: w.folders, stamps: w.stamps}
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
	dir, err := w.root.OpenRoot(folder) // From here a file is one step away, and not one for each folder.
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !IsIgnored(entry.Name()) && entry.Type().IsRegular() && w.takeKnown(dir, entry.Name(), path.Join(shown, entry.Name())) {
			continue
		}
		if err := w.entry(entry, folder, shown, append(chain[:len(chain):len(chain)], info)); err != nil {
			return err
		}
	}
	return nil
}

// takeKnown takes the text of a file that was read before and has not changed, and reports whether it did.
func (w *walk) takeKnown(dir *os.Root, name, shown string) bool {
	if len(w.before) == 0 {
		return false
	}
	info, err := dir.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	stamp, stable := stampOf(info, w.began)
	text, known := w.before[stamp]
	if !known || !stable || w.entries >= MaxFiles || w.bytes+len(text) > MaxBytes {
		return false
	}
	w.entries, w.bytes = w.entries+1, w.bytes+len(text)
	w.files[shown], w.stamps[stamp] = text, text
	return true
}

func (w *walk) entry(entry fs.DirEntry, folder, shown string, chain []fs.FileInfo) error {
	if IsIgnored(entry.Name()) || entry.Name() == w.without {
		return nil
	}
	if w.entries++; w.entries > MaxFiles {
		return fmt.Errorf("it has more than %d files and folders: name the folder that holds the scripts, or pack what they reach with "+
			"libretto bundle", MaxFiles)
	}
	at, shown := path.Join(folder, entry.Name()), path.Join(shown, entry.Name())
	if entry.Type().IsRegular() {
		return w.file(at, shown)
	}
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

// IsIgnored reports whether an entry is no script: it is of Kubernetes, an editor or version
// control.
func IsIgnored(name string) bool { return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") }

// file reads one file. Opening must not wait, in case it has become a pipe since it was looked at.
func (w *walk) file(at, shown string) error {
	f, err := w.root.OpenFile(at, os.O_RDONLY|nonBlocking, 0)
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
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		w.addProblem(shown, "is no regular file: take it away")
		return err
	}
	text, err := w.text(f, info)
	if err != nil {
		return err
	}
	if w.bytes += len(text); w.bytes > MaxBytes {
		return fmt.Errorf("its files have more than %d MiB together, from %s on: take out what is no script, and links to what is there "+
			"already, which counts again", MaxBytes>>20, shown)
	}
	w.files[shown] = text
	return nil
}

// text returns what a file holds, which is not more than one byte beyond what there may be. A file that several links lead to is
// read once.
func (w *walk) text(f *os.File, info fs.FileInfo) (string, error) {
	stamp, stable := stampOf(info, w.began)
	if text, known := w.stamps[stamp]; known && stable {
		return text, nil
	}
	var text strings.Builder
	text.Grow(int(min(info.Size(), int64(MaxBytes-w.bytes)) + 1))
	if _, err := io.CopyBuffer(&text, io.LimitReader(f, int64(MaxBytes-w.bytes)+1), w.buffer); err != nil {
		return "", err
	}
	if stable {
		w.stamps[stamp] = text.String()
	}
	return text.String(), nil
}

func (w *walk) addProblem(path, message string) {
	w.problems = append(w.problems, Problem{Path: path, Message: message})
}
