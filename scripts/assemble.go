package scripts

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts/directory"
)

// maxFiles is how many files a tree may have: each takes memory besides its text.
const maxFiles = directory.MaxFiles

// ErrMissing means that a source does not exist.
var ErrMissing = errors.New("not found: create it, or correct the name in scriptSources")

// moduleTree holds the files of all sources at one moment.
type moduleTree struct {
	engines *engines.Registry
	files   map[string]string
	origins map[string]Origin // of each file
	bytes   int
	// full is true if there was no room for a file: those that follow are not looked at.
	full bool
	// trustDomain names who wrote the files.
	trustDomain string
	problems    []Problem
	// binaries are the files that are no text, and leftOut are warnings about those that nothing names.
	binaries []binary
	leftOut  []Problem
	// pending is true if some source has not been read yet.
	pending bool
	// revisions are those of the sources that have them, for State.Sources.
	revisions string
}

// assemble puts the files of all sources into one tree, and collects all problems.
func assemble(spec Spec, readings map[Origin]reading, registry *engines.Registry) *moduleTree {
	d := newModuleTree(registry)
	d.trustDomain = spec.trustDomain()
	for _, source := range spec.Sources {
		d.addSource(source, readings[source.Origin()])
	}
	d.revisions = revisionsIn(readings)
	d.addInline(spec, registry)
	d.settleBinaries(spec, registry)
	return d
}

// revisionsIn returns the revisions of the sources that have them, a line for each object.
func revisionsIn(readings map[Origin]reading) string {
	lines := map[string]struct{}{}
	for origin, r := range readings {
		if r.revision != "" {
			lines[origin.Object().String()+" is at "+r.revision] = struct{}{}
		}
	}
	return strings.Join(slices.Sorted(maps.Keys(lines)), "\n")
}

// testSuffix ends the names of files with tests.
const testSuffix = "_test.yaml"

// binary is a file that is no text.
type binary struct {
	origin     Origin
	path, text string
}

// settleBinaries leaves out binaries that no script can mean: a picture beside the scripts is no reason to refuse an edit of them. One that
// has the name of a script, or that a text names, may be a script with a mistake.
func (d *moduleTree) settleBinaries(spec Spec, registry *engines.Registry) {
	for _, b := range d.binaries {
		if d.means(spec, registry, b.path) {
			bad := locationOf(b.path, b.text, invalidUTF8(b.text))
			d.fail(b.origin, engines.InvalidError(bad, "not UTF-8 text: save it as UTF-8, or %s",
				b.origin.hint("leave it out with items", "take it away")))
			continue
		}
		d.leftOut = append(d.leftOut, Problem{Origin: b.origin, Err: engines.InvalidError(engines.Location{File: b.path},
			"left out, as it is not UTF-8 text, and no script names it")})
	}
}

// means reports whether a path may be that of a script or of tests: a hook, what has such a name, or what a text names.
func (d *moduleTree) means(spec Spec, registry *engines.Registry, file string) bool {
	if _, err := registry.NameForPath(file); err == nil || strings.HasSuffix(file, testSuffix) {
		return true
	}
	for _, hook := range spec.Hooks {
		if hook.Path == file {
			return true
		}
	}
	for _, text := range d.files {
		if strings.Contains(text, path.Base(file)) {
			return true
		}
	}
	return false
}

func newModuleTree(registry *engines.Registry) *moduleTree {
	return &moduleTree{engines: registry, files: map[string]string{}, origins: map[string]Origin{}}
}

func (d *moduleTree) addInline(spec Spec, registry *engines.Registry) {
	for _, name := range spec.hookNames() {
		if hook := spec.Hooks[name]; hook.Inline != "" {
			d.add(Origin{Hook: name}, hook.entry(name, registry), hook.Inline)
		}
	}
}

// entry returns the path of a hook's script. An inline script is named after its hook.
func (h Hook) entry(name string, registry *engines.Registry) string {
	if h.Inline == "" {
		return h.Path
	}
	return "inline-" + name + registry.Extension(h.Engine)
}

func (d *moduleTree) addSource(source Source, r reading) {
	origin := source.Origin()
	switch {
	case r.err != nil:
		d.fail(origin, r.err)
	case !r.synced:
		d.pending = true
	case r.files == nil:
		d.fail(origin, ErrMissing)
	case source.Directory != nil:
		d.addDirectory(origin, "", r)
	case source.Flux != nil:
		d.addDirectory(origin, source.Flux.Prefix, r)
	default:
		d.addItems(origin, source.ConfigMap, r.files)
	}
}

func (d *moduleTree) addDirectory(origin Origin, prefix string, r reading) {
	for _, flaw := range r.problems {
		d.fail(origin, engines.InvalidError(engines.Location{File: flaw.Path}, "%s", flaw.Message))
	}
	for _, file := range slices.Sorted(maps.Keys(r.files)) {
		d.add(origin, path.Join(prefix, file), r.files[file])
	}
}

func (d *moduleTree) addItems(origin Origin, c *ConfigMap, files map[string]string) {
	items := c.Items
	if len(items) == 0 {
		for _, key := range slices.Sorted(maps.Keys(files)) {
			items = append(items, Item{Key: key, Path: key})
		}
	}
	for _, item := range items {
		text, ok := files[item.Key]
		if !ok {
			d.fail(origin, engines.InvalidError(engines.Location{}, "no key %q: add it, or correct items", item.Key))
			continue
		}
		d.add(origin, path.Join(c.Prefix, item.Path), text)
	}
}

func (d *moduleTree) add(origin Origin, path, text string) {
	if first, taken := d.origins[path]; taken {
		d.fail(origin, engines.InvalidError(engines.Location{File: path}, "the path is taken by %s: %s",
			first, origin.hint("set prefix, or choose with items", "rename one of them")))
		return
	}
	if !utf8.ValidString(text) {
		d.binaries = append(d.binaries, binary{origin, path, text})
		return
	}
	if !d.checkSize(origin, path, len(text)) {
		return
	}
	d.bytes += len(text)
	d.files[path], d.origins[path] = text, origin
}

// checkSize reports whether there is room for one more file, and fails the first time that there is none.
func (d *moduleTree) checkSize(origin Origin, path string, size int) bool {
	var problem string
	switch {
	case d.full:
		return false
	case d.bytes+size > engines.MaxSourceBytes:
		problem = fmt.Sprintf("the script files have more than %d MiB together", engines.MaxSourceBytes>>20)
	case len(d.files) == maxFiles:
		problem = fmt.Sprintf("there are more than %d script files", maxFiles)
	default:
		return true
	}
	d.full = true
	d.fail(origin, engines.InvalidError(engines.Location{File: path}, "from here on %s: pack what the hooks reach with libretto bundle, or %s",
		problem, origin.hint("choose with items what is needed", "take out what is not needed")))
	return false
}

// hint returns ofConfigMap if the origin is a ConfigMap, and other otherwise.
func (o Origin) hint(ofConfigMap, other string) string {
	if o.ConfigMap.Name != "" {
		return ofConfigMap
	}
	return other
}

// sourceFiles returns the files that come from sources: inline scripts are in the definition.
func (d *moduleTree) sourceFiles() map[string]string {
	files := map[string]string{}
	for path, text := range d.files {
		if d.origins[path].Hook == "" {
			files[path] = text
		}
	}
	return files
}

func (d *moduleTree) fail(origin Origin, err error) {
	d.problems = append(d.problems, Problem{Origin: origin, Err: err})
}

// locationOf returns line and column of a byte.
func locationOf(path, text string, offset int) engines.Location {
	before := text[:offset]
	return engines.Location{
		File:   path,
		Line:   strings.Count(before, "\n") + 1,
		Column: utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1,
	}
}

// invalidUTF8 finds the first byte that is not UTF-8, or returns -1.
func invalidUTF8(text string) int {
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return -1
}
