package javascript

import (
	"fmt"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/libretto-k8s/libretto/engines"
)

// tree is the module tree of a script, the only place that modules come from.
type tree struct {
	engines.Files
	// ofTests is true if the entry is a file of tests, so that there is the module libretto/test.
	ofTests bool
	// used has the paths of the files that were read.
	used *sync.Map
	// imports has the paths of a file and of one that it imports, for all that were resolved.
	imports *sync.Map
	// read is how many bytes the modules that were read have.
	read *atomic.Int64
	// keepImports is true if imports that nothing uses are resolved too.
	keepImports bool
}

func newCount() *atomic.Int64 { return &atomic.Int64{} }

// use notes that a file was read. esbuild reads several at once.
func (t tree) use(name string) {
	if t.used != nil {
		t.used.Store(name, true)
	}
}

func (t tree) usedPaths() []string {
	var paths []string
	t.used.Range(func(name, _ any) bool {
		paths = append(paths, name.(string))
		return true
	})
	return paths
}

// endings are tried in this order for an import without one.
var endings = []string{"", ".ts", ".js", ".mjs", ".cjs", ".json", "/index.ts", "/index.js", "/index.mjs", "/index.cjs", "/index.json"}

// resolve returns the path in the tree of what a module imports.
func (t tree) resolve(r importRequest) (string, error) {
	switch first, _, _ := strings.Cut(r.imported, "/"); {
	case first == "." || first == "..":
		return t.resolvePath(r)
	case first == "":
		return "", fmt.Errorf("can't import %q: there are only the files of this definition (write ./ or ../): %s", r.imported, t)
	case first[0] == '#':
		return t.resolveImports(r)
	default:
		return t.resolvePackage(r)
	}
}

func (t tree) resolvePath(r importRequest) (string, error) {
	target, err := t.Join(r.importer, r.imported)
	if err != nil {
		return "", err
	}
	if found, ok := t.fileOrFolder(target, r); ok {
		return found, nil
	}
	return "", fmt.Errorf("can't import %q: there is no file %q, with or without an ending: %s", r.imported, target, t)
}

// find looks for a path as it is, then with each of the endings. As TypeScript
// has it, "x.js" may stand for "x.ts".
func (t tree) find(target string) (string, bool) {
	for _, ending := range endings {
		candidate := strings.TrimPrefix(path.Clean(target+ending), "./")
		if _, ok := t.Files[candidate]; ok {
			return candidate, true
		}
	}
	typed := strings.TrimSuffix(target, ".js") + ".ts"
	_, ok := t.Files[typed]
	return typed, ok && strings.HasSuffix(target, ".js")
}

// loader returns what a file is by its ending. Anything that is no module can be
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
