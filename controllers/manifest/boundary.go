package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Boundary is a folder that nothing is read outside of: no path and no link leads out of it. The zero value bounds nothing.
type Boundary struct {
	folder string
	name   string // What the folder is, for messages.
	advice string
}

// repository is what makes a folder a repository. Nothing is read in it: it may hold the credentials of a remote.
const repository = ".git"

// BoundaryOf returns the boundary of what a file may name: the repository that it is in. Outside of one it is the working directory, if the
// file is below it, and else the file's folder.
func BoundaryOf(file string) (Boundary, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return Boundary{}, err
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return Boundary{}, err
	}
	for above := folder; ; above = filepath.Dir(above) {
		if _, err := os.Lstat(filepath.Join(above, repository)); err == nil {
			return Boundary{above, "the repository", "copy it there"}, nil
		}
		if above == filepath.Dir(above) {
			break
		}
	}
	working, err := os.Getwd()
	if err == nil {
		working, err = filepath.EvalSymlinks(working)
	}
	const advice = "copy it there, or start the command in a folder above both"
	if err == nil && isWithin(working, folder) {
		return Boundary{working, "the folder that the command was started in", advice}, nil
	}
	return Boundary{folder, "the folder of the test", advice}, nil
}

// Check returns an error for a path that leads out of the folder.
func (b Boundary) Check(path string) error {
	if b.folder == "" {
		return nil
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	resolved := resolve(absolute)
	if !isWithin(b.folder, resolved) {
		return fmt.Errorf("%s is outside of %s, and tests read nothing else: %s", path, b.name, b.advice)
	}
	if within, err := filepath.Rel(b.folder, resolved); err == nil &&
		slices.Contains(strings.Split(within, string(filepath.Separator)), repository) {
		return fmt.Errorf("%s is in the folder %s, of which tests read nothing", path, repository)
	}
	return nil
}

func isWithin(folder, path string) bool {
	within, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(within)
}

// resolve follows the links of a path, as far as there is something at it.
func resolve(path string) string {
	for there := path; ; there = filepath.Dir(there) {
		if resolved, err := filepath.EvalSymlinks(there); err == nil {
			return filepath.Join(resolved, strings.TrimPrefix(path, there))
		}
		if there == filepath.Dir(there) {
			return path
		}
	}
}
