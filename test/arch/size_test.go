package arch

import (
	"go/ast"
	"path"
	"strings"
	"testing"
)

// Bounds on what one has to hold in mind at once. docs/design/shape.md has why the engines are not among what is bounded.
const (
	maxFiles  = 25
	maxFields = 20
)

// TestSizes checks how many files a package has, and how many fields a struct.
func TestSizes(t *testing.T) {
	files := map[string]int{}
	walkProduct(t, func(name string, file *ast.File) {
		if !strings.HasPrefix(path.Base(name), "zz_generated") {
			files[path.Dir(name)]++
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if structure, ok := spec.Type.(*ast.StructType); ok && structure.Fields.NumFields() > maxFields {
					t.Errorf("%s: %s has %d fields, at most %d: group them by what they are of", name, spec.Name, structure.Fields.NumFields(), maxFields)
				}
			}
			return true
		})
	})
	for folder, count := range files {
		if count > maxFiles {
			t.Errorf("%s has %d files, at most %d: give what knows nothing of the rest a package of its own", folder, count, maxFiles)
		}
	}
}
