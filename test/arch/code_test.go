package arch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// goPackage is a package as go list describes it.
type goPackage struct {
	Dir, ImportPath, Name              string
	Module                             struct{ Path string }
	GoFiles, IgnoredGoFiles            []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
}

var root = filepath.Join("..", "..")

// packages returns every package of the module. It builds none.
func packages(t *testing.T) []goPackage {
	t.Helper()
	walkFolders(t)
	const fields = "Dir,ImportPath,Name,Module,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports"
	command := exec.Command("go", "list", "-e", "-json="+fields, "./...")
	command.Dir = root
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var all []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		all = append(all, p)
	}
}

// walkFolders opens every folder of the module. The test cache depends on the folders and files that
// a test opens, but not on those that go list opens: so go test runs this test again when a file is added.
func walkFolders(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() || path == root {
			return err
		}
		if name := entry.Name(); strings.HasPrefix(name, ".") || name == "bin" || name == "testdata" {
			return filepath.SkipDir
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// below returns the path of a package below the module's root. It returns false for packages of other modules.
func below(module, importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func (p goPackage) node() node {
	n := node{name: p.Name}
	n.path, _ = below(p.Module.Path, p.ImportPath)
	n.imports, n.external = p.split(p.Imports)
	n.testImports, _ = p.split(slices.Concat(p.TestImports, p.XTestImports))
	return n
}

// split returns the imports of this module, as paths below its root, and those of other modules.
func (p goPackage) split(imports []string) (ours, external []string) {
	for _, i := range imports {
		if path, ok := below(p.Module.Path, i); ok {
			ours = append(ours, path)
		} else {
			external = append(external, i)
		}
	}
	return ours, external
}

// TestCode checks every package of the module.
func TestCode(t *testing.T) {
	all := packages(t)
	if len(all) < 2 {
		t.Fatalf("go list found %d packages: nothing would be checked", len(all))
	}
	var graph []node
	for _, p := range all {
		graph = append(graph, p.node())
		problems, err := inspect(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range problems {
			t.Errorf("%s: %s", p.ImportPath, problem)
		}
	}
	for _, violation := range violations(graph) {
		t.Error(violation)
	}
}

// inspect reads the files of a package and returns the problems that go list does not show: a missing
// package comment, and init functions.
func inspect(p goPackage) ([]string, error) {
	var problems []string
	documented := false
	for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		documented = documented || packageComment(file)
		if hasInit(file) && !ast.IsGenerated(file) {
			problems = append(problems, name+" has an init function: let the callers that need it call a function, so that an import has no effects")
		}
	}
	if !documented {
		problems = append(problems, "no file has a package comment: describe what the package is for")
	}
	return problems, nil
}

func packageComment(file *ast.File) bool {
	text := file.Doc.Text()
	return strings.HasPrefix(text, fmt.Sprintf("Package %s ", file.Name.Name)) || strings.HasPrefix(text, "Command ")
}

func hasInit(file *ast.File) bool {
	return slices.ContainsFunc(file.Decls, func(declaration ast.Decl) bool {
		function, ok := declaration.(*ast.FuncDecl)
		return ok && function.Recv == nil && function.Name.Name == "init"
	})
}

// TestInspectCatches checks that inspect finds each problem.
func TestInspectCatches(t *testing.T) {
	for name, c := range map[string]struct {
		source                  string
		wantComment, wantNoInit bool
	}{
		"no problem":             {"// Package a is one.\npackage a\nfunc f() {}", true, true},
		"a command":              {"// Command a is one.\npackage main", true, true},
		"no comment":             {"package a", false, true},
		"an unrelated comment":   {"// nolint\npackage a", false, true},
		"a detached comment":     {"// Package a is one.\n\npackage a", false, true},
		"another package's name": {"// Package b is one.\npackage a", false, true},
		"init":                   {"// Package a is one.\npackage a\nfunc init() {}", true, false},
		"a method called init":   {"// Package a is one.\npackage a\ntype t int\nfunc (t) init() {}", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := parser.ParseFile(token.NewFileSet(), "a.go", c.source, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if got := packageComment(file); got != c.wantComment {
				t.Errorf("packageComment = %v, want %v", got, c.wantComment)
			}
			if got := !hasInit(file); got != c.wantNoInit {
				t.Errorf("free of init = %v, want %v", got, c.wantNoInit)
			}
		})
	}
}
