package manifest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// Limits of everything that is read.
const (
	maxFiles = 10_000
	maxBytes = 32 << 20
)

// reader reads files into objects.
type reader struct {
	options  Options
	read     map[string]bool // files and directories, so that each is read once
	inputs   map[string]bool // their names
	bytes    int
	files    int
	objects  []loaded
	problems []*document.Error
	skipped  []string
}

// add reads what is given as -f.
func (r *reader) add(ctx context.Context, name string) error {
	switch {
	case name == "":
		return errors.New("-f: the name of a file is empty")
	case name == "-":
		return r.addStdin()
	case strings.HasPrefix(name, "https://"), strings.HasPrefix(name, "http://"):
		return fmt.Errorf("%s: nothing is fetched: download it, or pipe it into -f -", name)
	}
	info, err := os.Stat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		if slices.Contains(kustomizationNames, filepath.Base(name)) {
			return r.addKustomization(ctx, filepath.Dir(name))
		}
		return r.addFile(name)
	}
	return r.addDirectory(ctx, name)
}

func (r *reader) addStdin() error {
	if r.options.Stdin == nil {
		return errors.New("-f -: there is no standard input")
	}
	if r.isRead("-") {
		return errors.New("-f -: standard input is given twice")
	}
	return r.addText("stdin", r.options.Stdin)
}

// isRead reports whether that file was read before, and notes that it is.
func (r *reader) isRead(name string) bool {
	key := name
	if absolute, err := filepath.Abs(name); err == nil && name != "-" {
		key = absolute
	}
	before := r.read[key]
	r.read[key] = true
	return before
}

func (r *reader) addFile(name string) error {
	if r.isRead(name) {
		return nil
	}
	r.inputs[name] = true
	if err := r.options.Within.Check(name); err != nil {
		return err
	}
	if text, found := r.options.overlaid(name); found {
		return r.addText(name, strings.NewReader(text))
	}
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return r.addText(name, f)
}

func (r *reader) addText(name string, from io.Reader) error {
	text, err := io.ReadAll(io.LimitReader(from, document.MaxBytes+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := r.count(name, len(text)); err != nil {
		return err
	}
	objects, problems := document.Read(name, text)
	for _, o := range objects {
		r.objects = append(r.objects, loaded{Object: o})
	}
	r.problems = append(r.problems, problems...)
	return nil
}

// count counts a file, and returns an error if that is too much.
func (r *reader) count(name string, bytes int) error {
	r.files++
	r.bytes += bytes
	if r.files > maxFiles {
		return fmt.Errorf("%s: more than %d files: name the folder that holds the definition", name, maxFiles)
	}
	if r.bytes > maxBytes {
		return fmt.Errorf("%s: from here on there are more than %d MiB: name the files that are needed", name, maxBytes>>20)
	}
	return nil
}

// addDirectory reads the manifests of a directory, or builds it if it has a kustomization.
func (r *reader) addDirectory(ctx context.Context, directory string) error {
	if r.isRead(directory) {
		return nil
	}
	r.inputs[directory] = true
	if err := r.options.Within.Check(directory); err != nil {
		return err
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return slices.Contains(kustomizationNames, e.Name()) }) {
		return r.addKustomization(ctx, directory)
	}
	for _, entry := range entries {
		if err := r.addEntry(ctx, filepath.Join(directory, entry.Name()), entry); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (r *reader) addEntry(ctx context.Context, path string, entry fs.DirEntry) error {
	if entry.IsDir() {
		if !r.options.Recursive {
			return nil
		}
		if name := entry.Name(); strings.HasPrefix(name, ".") || name == "node_modules" || name == "vendor" {
			r.skipped = append(r.skipped, path)
			return nil
		}
		return r.addDirectory(ctx, path)
	}
	if !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(path)) || r.options.Ignore != nil && r.options.Ignore(path) {
		return nil
	}
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		r.skipped = append(r.skipped, path)
		return err
	}
	if r.isNoManifest(entry.Name()) {
		r.skipped = append(r.skipped, path)
		return nil
	}
	before := len(r.objects)
	err := r.addFile(path)
	if strings.HasSuffix(path, testSuffix) {
		r.objects = append(r.objects[:before], onlyTests(r.objects[before:])...)
	}
	return err
}

// testSuffix ends the names of files with tests.
const testSuffix = "_test.yaml"

// onlyTests returns the tests among the objects of a file, if there are any. What lies beside them is theirs, such as the definition of a
// captured case, which the directory may have in another state.
func onlyTests(objects []loaded) []loaded {
	isTest := func(o loaded) bool { return o.GroupVersionKind().Group == TestGroup }
	if !slices.ContainsFunc(objects, isTest) {
		return objects
	}
	return slices.DeleteFunc(objects, func(o loaded) bool { return !isTest(o) })
}

// isNoManifest reports whether a file with the ending of a manifest is known to be something else, that lies beside scripts.
func (r *reader) isNoManifest(name string) bool {
	return r.options.IsScript != nil && r.options.IsScript(name) || strings.HasSuffix(name, ".schema.json") ||
		slices.Contains([]string{"package.json", "package-lock.json", "jsconfig.json", "jsonnetfile.json", "jsonnetfile.lock.json"}, name) ||
		strings.HasPrefix(name, "tsconfig") && strings.HasSuffix(name, ".json")
}

func (r *reader) failf(at engines.Location, format string, args ...any) {
	r.problems = append(r.problems, &document.Error{Location: at, Message: fmt.Sprintf(format, args...)})
}
