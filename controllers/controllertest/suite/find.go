// Package suite finds the test files of controllers, loads the definitions that they test, and runs their cases at the same time.
package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// Found are the test files below some paths, sorted, each once.
type Found struct {
	// Cases are files of kind ControllerTest.
	Cases []string
	// Functions are tests of functions alone, which engines run.
	Functions []string
	// Skipped are files that are named like tests and are none, each with the reason.
	Skipped []string
	// Directories are those that were searched.
	Directories []string
}

// finder adds what it finds.
type finder struct {
	*Found
	engines *engines.Registry
}

// Find returns the test files among the paths: files, and directories with all that is below them, except hidden files and folders,
// node_modules and vendor. A path may end in /... like a pattern of Go.
func Find(registry *engines.Registry, paths ...string) (*Found, error) {
	f := finder{&Found{}, registry}
	for _, given := range paths {
		name := given
		if trimmed, recursive := strings.CutSuffix(filepath.ToSlash(given), "/..."); recursive || given == "..." {
			name = strings.TrimSuffix(trimmed, "...")
			if name == "" && strings.HasPrefix(given, "/") {
				name = "/"
			}
		}
		name = filepath.Clean(name)
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return nil, err
		case info.IsDir():
			err = f.addDirectory(name)
		default:
			err = f.addFile(name, true)
		}
		if err != nil {
			return nil, err
		}
	}
	for _, list := range []*[]string{&f.Cases, &f.Functions, &f.Skipped, &f.Directories} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return f.Found, nil
}

// addDirectory adds the tests of a directory. Links in it are not followed.
func (f finder) addDirectory(root string) error {
	root += string(filepath.Separator) // So that a link to a folder is followed if it was named.
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		switch name := entry.Name(); {
		case path == root:
			f.Directories = append(f.Directories, filepath.Clean(path))
			return nil
		case entry.IsDir() && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor"):
			return filepath.SkipDir
		case entry.IsDir():
			f.Directories = append(f.Directories, path)
			return nil
		case strings.HasPrefix(name, "."):
			return nil // Such as the lock file of an editor.
		case isTestName(f.engines, name):
			return f.addFile(path, false)
		default:
			return nil
		}
	})
}

// isTestName reports whether a file is named like a test.
func isTestName(registry *engines.Registry, name string) bool {
	return strings.HasSuffix(name, controllertest.FileSuffix) || registry.TestsIn(name) != nil
}

// addFile adds a file. One that was named must be a test.
func (f finder) addFile(name string, named bool) error {
	switch info, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist) && !named:
		f.Skipped = append(f.Skipped, name+": left out: it is a link to nothing, or was just removed")
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		f.Skipped = append(f.Skipped, name+": is no regular file")
		return nil
	case f.engines.TestsIn(name) != nil:
		f.Functions = append(f.Functions, name)
		return nil
	}
	text, err := readFile(name)
	switch {
	case err != nil:
		return err
	case declaresTest.Match(text):
		f.Cases = append(f.Cases, name)
	case named:
		return fmt.Errorf("%s is no test: it has no kind: %s", name, controllertest.Kind)
	default:
		why := "it has no kind: " + controllertest.Kind
		if err := yaml.Unmarshal(text, new(any)); err != nil {
			why = "it is no YAML: " + err.Error()
		}
		f.Skipped = append(f.Skipped, fmt.Sprintf("%s: left out: %s", name, why))
	}
	return nil
}

// declaresTest matches the header of a test, or what is meant to be one: other tools have files with that suffix too.
var declaresTest = regexp.MustCompile(`(?m)^[{ ]?"?(kind"?:\s*["']?` + controllertest.Kind + `\b|apiVersion"?:\s*["']?libretto\.dev/)`)

// readFile returns the text of a file, unless it is too large to be read.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: is no regular file", name)
	case info.Size() > document.MaxBytes:
		return nil, fmt.Errorf("%s: has %d MiB, and %d MiB are read at most: split it", name, info.Size()>>20, document.MaxBytes>>20)
	}
	return os.ReadFile(name)
}
