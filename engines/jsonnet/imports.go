package jsonnet

import (
	"fmt"
	"path"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// vendorFolder is where libraries are, as for jsonnet -J vendor, and where jsonnet-bundler puts them.
const vendorFolder = "vendor"

// tree is the module tree of a script, the only place that imports come from.
type tree struct{ engines.Files }

// resolve returns the path in the tree of what a file imports: relative to the file, and failing that in vendor.
func (t tree) resolve(importer, imported string) (string, error) {
	if path.IsAbs(imported) {
		return "", fmt.Errorf("can't import %q: there are only the files of this definition, by their path from this one: %s", imported, t)
	}
	target, err := t.Join(importer, imported)
	if t.has(target, err) {
		return target, nil
	}
	vendored, vendorErr := t.Join("", path.Join(vendorFolder, imported))
	switch {
	case t.has(vendored, vendorErr):
		return vendored, nil
	case err != nil:
		return "", err
	case t.hasVendor():
		return "", fmt.Errorf("can't import %q: there is no file %q or %q: %s", imported, target, vendored, t)
	default:
		return "", fmt.Errorf("can't import %q: there is no file %q: %s", imported, target, t)
	}
}

func (t tree) has(target string, err error) bool {
	_, ok := t.Files[target]
	return ok && err == nil
}

func (t tree) hasVendor() bool {
	for name := range t.Files {
		if strings.HasPrefix(name, vendorFolder+"/") {
			return true
		}
	}
	return false
}

// module is resolve for what is imported as code. Where the tree has no such file, the
// host's own module goes by its name from everywhere, as a library's does for jsonnet -J.
func (t tree) module(importer, imported string) (string, error) {
	found, err := t.resolve(importer, imported)
	if err != nil && (imported == "libretto" || imported == "libretto.libsonnet") {
		return preludeFile, nil
	}
	return found, err
}

// text returns that of a file of the tree, or of the host's own module.
func (t tree) text(path string) string {
	if path == preludeFile {
		return authoring.Jsonnet
	}
	return t.Files[path]
}
