package javascript

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// tree is the module tree of a script, the only place that modules come from.
type tree map[string]string

// endings are tried in this order for an import without one.
var endings = []string{"", ".ts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js", "/index.mjs", "/index.cjs", "/index.json"}

// resolve gives the path in the tree of what a module imports.
func (t tree) resolve(r request) (string, error) {
	switch first, _, _ := strings.Cut(r.imported, "/"); {
	case first == "." || first == "..":
		return t.byPath(r)
	case first == "":
		return "", fmt.Errorf("can't import %q: there are only the files of this definition (write ./ or ../): %s", r.imported, t.listing())
	case first[0] == '#':
		return t.ofImports(r)
	default:
		return t.ofPackage(r)
	}
}

func (t tree) byPath(r request) (string, error) {
	target := path.Join(path.Dir(r.importer), r.imported)
	if target == ".." || strings.HasPrefix(target, "../") {
		return "", fmt.Errorf("can't import %q: it leaves the files of this definition: %s", r.imported, t.listing())
	}
	if found, ok := t.fileOrFolder(target, r); ok {
		return found, nil
	}
	return "", fmt.Errorf("can't import %q: there is no file %q, with or without an ending: %s", r.imported, target, t.listing())
}

// find looks for a path as it is, then with each of the endings. As TypeScript
// has it, "x.js" may stand for "x.ts".
func (t tree) find(target string) (string, bool) {
	for _, ending := range endings {
		candidate := strings.TrimPrefix(path.Clean(target+ending), "./")
		if _, ok := t[candidate]; ok {
			return candidate, true
		}
	}
	typed := strings.TrimSuffix(target, ".js") + ".ts"
	_, ok := t[typed]
	return typed, ok && strings.HasSuffix(target, ".js")
}

func (t tree) listing() string {
	const shown = 10
	names := slices.Sorted(func(yield func(string) bool) {
		for name := range t {
			if !yield(name) {
				return
			}
		}
	})
	if len(names) <= shown {
		return "there are " + strings.Join(names, ", ")
	}
	return fmt.Sprintf("there are %s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

func (t tree) size() int {
	size := 0
	for _, text := range t {
		size += len(text)
	}
	return size
}

// loader says what a file is by its ending. Anything that is no module can be
// imported as text.
func loader(name string) api.Loader {
	switch path.Ext(name) {
	case ".ts":
		return api.LoaderTS
	case ".js", ".mjs", ".cjs":
		return api.LoaderJS
	case ".json":
		return api.LoaderJSON
	default:
		return api.LoaderText
	}
}
