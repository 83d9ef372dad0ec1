package jsonnet

import (
	"fmt"
	"path"

	vm "github.com/google/go-jsonnet"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// tree is the module tree of a script, the only place that imports come from.
type tree struct{ engines.Files }

// resolve returns the path in the tree of what a file imports.
func (t tree) resolve(importer, imported string) (string, error) {
	if path.IsAbs(imported) {
		return "", fmt.Errorf("can't import %q: there are only the files of this definition, by their path from this one: %s", imported, t)
	}
	target, err := t.Join(importer, imported)
	if err != nil {
		return "", err
	}
	if _, ok := t.Files[target]; !ok {
		return "", fmt.Errorf("can't import %q: there is no file %q: %s", imported, target, t)
	}
	return target, nil
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

// importer provides the VM with the files for importstr and importbin, which the linker
// found, under their paths. Code is linked, so that it imports none.
type importer struct {
	tree  tree
	texts map[string]vm.Contents
}

// Import is called by the VM, for each evaluation of an import.
func (i importer) Import(from, imported string) (vm.Contents, string, error) {
	found, err := i.tree.resolve(from, imported)
	if err != nil {
		return vm.Contents{}, "", err
	}
	text, ok := i.texts[found]
	if !ok {
		return vm.Contents{}, "", fmt.Errorf("can't import %q: it was not there when the script was loaded", imported)
	}
	return text, found, nil
}
