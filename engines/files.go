package engines

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// MaxSourceBytes bounds the files of one script together. An engine may allow less of what a script imports.
const MaxSourceBytes = 16 << 20

// Files are the contents of a script's files, by slash-separated path.
type Files map[string]string

// Check returns an error of kind Invalid if the files are too large, or if there is no
// file entry.
func (f Files) Check(entry string) error {
	size := 0
	for _, text := range f {
		size += len(text)
	}
	if size > MaxSourceBytes {
		return InvalidError(Location{}, "the files of this definition hold %d bytes, more than the %d allowed", size, MaxSourceBytes)
	}
	if _, ok := f[entry]; !ok {
		return InvalidError(Location{File: entry}, "no such file: %s", f)
	}
	return nil
}

// Join returns the path that an import in the file importer means. It is an error if the
// path leaves the files.
func (f Files) Join(importer, imported string) (string, error) {
	target := path.Join(path.Dir(importer), imported)
	if target == ".." || strings.HasPrefix(target, "../") {
		return "", fmt.Errorf("can't import %q: it leaves the files of this definition: %s", imported, f)
	}
	return target, nil
}

// String returns "there are a.js, b.js", for error messages.
func (f Files) String() string {
	const limit = 10
	names := slices.Sorted(maps.Keys(f))
	if len(names) <= limit {
		return "there are " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("there are %s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
}
