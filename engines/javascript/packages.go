package javascript

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// modulesFolder is where packages are looked for, in the importing file's folder and in
// each one above it.
const modulesFolder = "node_modules"

// builtIn are the modules of Node.js. Packages of their names may stand in for them.
var builtIn = strings.Fields(`assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns
	domain events fs http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream
	string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads zlib`)

// importRequest is what one module imports of another one, and how.
type importRequest struct {
	importer, imported string
	// required is true for require, and false for import.
	required bool
}

func newImportRequest(args api.OnResolveArgs) importRequest {
	required := args.Kind == api.ResolveJSRequireCall || args.Kind == api.ResolveJSRequireResolve
	return importRequest{importer: args.Importer, imported: args.Path, required: required}
}

// vendored reports whether the importing file is part of a package.
func (r importRequest) vendored() bool {
	return slices.Contains(strings.Split(path.Dir(r.importer), "/"), modulesFolder)
}

// conditions returns the keys of a package's exports that hold for the request.
func (r importRequest) conditions() []string {
	if r.required {
		return []string{"require", "module", "default"}
	}
	return []string{"import", "module", "default"}
}

// splitPackage returns the name of a package, which has two parts if it begins with @, and
// the path within it.
func splitPackage(imported string) (name, sub string) {
	parts := 1
	if strings.HasPrefix(imported, "@") {
		parts = 2
	}
	elements := strings.SplitN(imported, "/", parts+1)
	if len(elements) > parts {
		return strings.Join(elements[:parts], "/"), elements[parts]
	}
	return imported, ""
}

// resolvePackage returns the path in the tree of what is imported by the name of a package, as
// Node.js finds it: in the nearest node_modules that has it.
func (t tree) resolvePackage(r importRequest) (string, error) {
	name, sub := splitPackage(r.imported)
	for folder := path.Dir(r.importer); ; folder = path.Dir(folder) {
		if path.Base(folder) != modulesFolder {
			found, err := t.within(path.Join(folder, modulesFolder, name), sub, r)
			if found != "" || err != nil {
				return found, err
			}
		}
		if folder == "." {
			return "", t.packageError(name, r)
		}
	}
}

// within returns the path of a module within a package, or "" if the package is not
// in this folder.
func (t tree) within(folder, sub string, r importRequest) (string, error) {
	m, err := t.manifest(folder)
	if err != nil {
		return "", fmt.Errorf("can't import %q: %w", r.imported, err)
	}
	if m != nil && m.Exports != nil {
		target, ok := m.Exports.exported("."+strings.TrimSuffix("/"+sub, "/"), r.conditions())
		if found, there := t.find(path.Join(folder, target)); ok && there {
			return found, nil
		}
		return "", fmt.Errorf("can't import %q: exports of %s/package.json has nothing for it that is there", r.imported, folder)
	}
	if found, ok := t.fileOrFolder(path.Join(folder, sub), r); ok {
		return found, nil
	}
	return "", nil
}

// fileOrFolder looks for a file, with or without an ending, and for the main file of a folder.
func (t tree) fileOrFolder(target string, r importRequest) (string, bool) {
	m, err := t.manifest(target)
	if err == nil && m != nil {
		for _, main := range m.mains(r) {
			if found, ok := t.find(path.Join(target, main)); ok && main != "" {
				return found, true
			}
		}
	}
	return t.find(target)
}

// resolveImports returns the path of an internal name of a package, such as #lib.
func (t tree) resolveImports(r importRequest) (string, error) {
	for folder := path.Dir(r.importer); ; folder = path.Dir(folder) {
		m, err := t.manifest(folder)
		if err != nil {
			return "", fmt.Errorf("can't import %q: %w", r.imported, err)
		}
		if m != nil {
			target, ok := m.Imports.exported(r.imported, r.conditions())
			if ok && (strings.HasPrefix(target, "#") || strings.HasPrefix(target, "/")) {
				return "", fmt.Errorf("can't import %q: imports of %s lead to %q, which must be a path that begins with ./ or the name of a package",
					r.imported, path.Join(folder, "package.json"), target)
			}
			if ok && !strings.HasPrefix(target, "./") {
				return t.resolve(importRequest{importer: path.Join(folder, "package.json"), imported: target, required: r.required})
			}
			if found, there := t.find(path.Join(folder, target)); ok && there {
				return found, nil
			}
		}
		if m != nil || folder == "." {
			return "", fmt.Errorf("can't import %q: imports of %s has nothing for it that is there", r.imported, path.Join(folder, "package.json"))
		}
	}
}

// testFrameworks are the packages whose names the module libretto/test has.
var testFrameworks = []string{"vitest", "@jest/globals", "jest", "mocha", "chai", "bun:test"}

// packageError returns the error for a package that was not found.
func (t tree) packageError(name string, r importRequest) error {
	module, ofNode := strings.CutPrefix(name, "node:")
	switch {
	case ofNode || slices.Contains(builtIn, module):
		return fmt.Errorf("can't import %q: it is a module of Node.js, and scripts have none of these: "+
			"do without it, or add a package %s/%s in pure JavaScript",
			r.imported, modulesFolder, module)
	case t.ofTests && slices.Contains(testFrameworks, name):
		return fmt.Errorf("can't import %q: tests of scripts import from \"libretto/test\", which has the same names", r.imported)
	case strings.Contains(r.imported, ":"):
		return fmt.Errorf("can't import %q: nothing is fetched: add the file to scriptSources, and write its path", r.imported)
	}
	return fmt.Errorf("can't import %q: there is no %s/%s beside or above %s: "+
		"add the package to scriptSources, or write ./ or ../ if it is a file of yours: %s",
		r.imported, modulesFolder, name, r.importer, t)
}
