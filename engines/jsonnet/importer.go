package jsonnet

import (
	"fmt"
	"path"
	"strings"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

const (
	// codePrefix starts what parsed files import as code, because the VM does not tell its importer. No script can write it
	// and have it mean this: the rewriter puts it in front of whatever is written.
	codePrefix = "\x00code:"
	// textPrefix starts the VM's name of a file that is imported as text, which may be imported as code as well.
	textPrefix = "\x00text:"
)

// placeholder is what the VM parses in place of a file, so that it has an expression of its own to fill.
var placeholder = vm.MakeContents("local file = 0; file")

// importer provides the VM of a call with the files that it evaluates. The VM keeps the values for the call.
type importer struct {
	linked *linked
	vm     *vm.VM
	// filled are the files whose placeholders are filled, and bytes what they take.
	filled map[string]bool
	bytes  int64
}

// Import is called by the VM, for each evaluation of an import.
func (i *importer) Import(from, imported string) (vm.Contents, string, error) {
	plain, ofCode := strings.CutPrefix(imported, codePrefix)
	found, err := i.linked.resolve(importOf{from, plain, ofCode})
	switch {
	case err != nil:
		return vm.Contents{}, "", err
	case !ofCode:
		return i.linked.contents(found), textPrefix + found, nil
	case i.filled[found]:
		return placeholder, found, nil
	}
	file, err := i.linked.file(found)
	if err != nil {
		return vm.Contents{}, "", err
	}
	if i.bytes += file.bytes; i.bytes > i.linked.cache.mostParsed {
		return vm.Contents{}, "", fmt.Errorf("can't import %q: with it, the files that are evaluated take more than %d MiB "+
			"once they are parsed: import files that hold less beside what is used", plain, i.linked.cache.mostParsed>>20)
	}
	return placeholder, found, i.fill(from, imported, found, file)
}

// fill has the VM parse the placeholder of a file, by which it comes back to Import, and puts the file there.
func (i *importer) fill(from, imported, found string, file *parsed) error {
	i.filled[found] = true
	node, _, err := i.vm.ImportAST(from, imported)
	if err != nil {
		return err
	}
	local, ok := node.(*ast.Local)
	if !ok {
		return fmt.Errorf("the Jsonnet engine parsed the placeholder as %T", node)
	}
	local.LocRange, local.FreeVars = *file.node.Loc(), ast.Identifiers{"$std", "std"}
	local.Binds, local.Body = file.binds, file.node
	return nil
}

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
// host's own module is imported by its name from everywhere, as a library's does for jsonnet -J.
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
