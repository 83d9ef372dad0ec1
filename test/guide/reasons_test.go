package guide

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReasons checks that each reason of a condition or an event, which is a constant with such a name, is described where people look it up.
func TestReasons(t *testing.T) {
	var described strings.Builder
	for _, page := range []string{"reference/conditions.md", "reference/events.md", "guide/status-and-finalizers.md", "guide/rolling-updates.md"} {
		text, err := os.ReadFile(document(page))
		if err != nil {
			t.Fatal(err)
		}
		described.Write(text)
	}
	word, found := regexp.MustCompile(`^([A-Z][a-z]+){1,5}$`), 0
	eachConstant(t, func(file, name, value string) {
		if !strings.HasPrefix(strings.ToLower(name), "reason") || !word.MatchString(value) {
			return
		}
		found++
		if !regexp.MustCompile("`" + value + "[`,:]").MatchString(described.String()) {
			t.Errorf("%s: %s is described neither in docs/reference/conditions.md nor in docs/reference/events.md", file, value)
		}
	})
	if found < 60 {
		t.Errorf("%d reasons are found", found)
	}
}

// eachConstant calls do for all constants of the host that are texts.
func eachConstant(t *testing.T, do func(file, name, value string)) {
	t.Helper()
	files := token.NewFileSet()
	for _, folder := range []string{"controllers", "scripts", "engines", "cmd/libretto/internal/serve"} {
		err := filepath.WalkDir(document("../"+folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				spec, ok := node.(*ast.ValueSpec)
				if !ok {
					return true
				}
				for i, value := range spec.Values {
					if literal, ok := value.(*ast.BasicLit); ok && literal.Kind == token.STRING && i < len(spec.Names) {
						text, _ := strconv.Unquote(literal.Value)
						do(path, spec.Names[i].Name, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
