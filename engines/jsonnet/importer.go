package jsonnet

import (
	"fmt"
	"strings"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
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
