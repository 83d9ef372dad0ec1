package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines/standard"
)

// knowsLanguages are files outside of engines that may know one language, with the reason.
var knowsLanguages = map[string]string{
	"controllers/api/v1alpha1/script.go": "the API has a calling convention for JavaScript alone",
}

// TestLanguages checks that no code outside of engines has the name of an engine or the ending of its files: what is to be known of a
// language is in its engines.Definition, so that a further engine is a folder and a line in package standard.
func TestLanguages(t *testing.T) {
	known := map[string]bool{}
	for _, d := range standard.Scripts() {
		words := append([]string{d.Name}, d.Extensions...)
		if d.Tests != nil {
			words = append(words, d.Tests.Endings...)
		}
		for _, word := range words {
			known[word] = true
		}
	}
	met := map[string]bool{}
	walkProduct(t, func(name string, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			word, err := strconv.Unquote(literal.Value)
			switch {
			case err != nil || !known[word]:
			case knowsLanguages[name] != "":
				met[name] = true
			default:
				t.Errorf("%s has %q: ask engines.Registry, or add to engines.Definition what must be known of a language", name, word)
			}
			return true
		})
	})
	for name := range knowsLanguages {
		if !met[name] {
			t.Errorf("%s knows no language any more: take it off the list", name)
		}
	}
}

// walkProduct calls visit for each file of Go that is no test, outside of engines, tests, tools and examples.
func walkProduct(t *testing.T, visit func(name string, file *ast.File)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			hidden := name != "." && strings.HasPrefix(entry.Name(), ".")
			if hidden || slices.Contains([]string{"bin", "engines", "test", "tools", "examples", "docs"}, name) || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			files++
			visit(name, file)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files: %v", files, err)
	}
}
