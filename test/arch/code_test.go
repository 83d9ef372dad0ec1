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

// goPackage is what go list tells about a package.
type goPackage struct {
	Dir, ImportPath, Name              string
	Module                             struct{ Path string }
	GoFiles, IgnoredGoFiles            []string
	TestGoFiles, XTestGoFiles          []string
	Imports, TestImports, XTestImports []string
}

var root = filepath.Join("..", "..")

// packages lists every package of the module, without building any.
func packages(t *testing.T) []goPackage {
	t.Helper()
	lookAround(t)
	command := exec.Command("go", "list", "-e", "-json=Dir,ImportPath,Name,Module,GoFiles,IgnoredGoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports", "./...")
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

// lookAround lists every folder of the module. Package testing notes which folders and
// files a test opens, so that go test runs this one again when a file is added, which it
// could not know from go list.
func lookAround(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin" || entry.Name() == "testdata") {
			return filepath.SkipDir
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// below gives the path of a package below the module's root, if it is of the module.
func below(module, importPath string) (string, bool) {
	if importPath == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func (p goPackage) node() node {
	ours := func(imports ...string) []string {
		var paths []string
		for _, i := range imports {
			if path, ok := below(p.Module.Path, i); ok {
				paths = append(paths, path)
			}
		}
		return paths
	}
	path, _ := below(p.Module.Path, p.ImportPath)
	external := slices.DeleteFunc(slices.Clone(p.Imports), func(i string) bool { _, is := below(p.Module.Path, i); return is })
	return node{
		path: path, name: p.Name, imports: ours(p.Imports...), testImports: ours(slices.Concat(p.TestImports, p.XTestImports)...), external: external,
	}
}

// TestCode holds every package of the module against the rules.
func TestCode(t *testing.T) {
	all := packages(t)
	if len(all) < 2 {
		t.Fatalf("go list found %d packages, so that nothing would be checked", len(all))
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
	for _, violation := range violations(rules, graph) {
		t.Error(violation)
	}
}

// inspect looks into the files of a package for what go list does not tell: a package
// comment, which there must be, and init functions, which there must not be.
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
			problems = append(problems, name+" has an init function: let whoever needs it call a function, so that importing a package does nothing")
		}
	}
	if !documented {
		problems = append(problems, "no file has a package comment: say what the package is for")
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

// TestInspectCatches shows inspect what it has to find.
func TestInspectCatches(t *testing.T) {
	for name, c := range map[string]struct {
		source                  string
		wantComment, wantNoInit bool
	}{
		"all well":               {"// Package a is one.\npackage a\nfunc f() {}", true, true},
		"a command":              {"// Command a is one.\npackage main", true, true},
		"no comment":             {"package a", false, true},
		"a comment of no use":    {"// nolint\npackage a", false, true},
		"a comment set apart":    {"// Package a is one.\n\npackage a", false, true},
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
