package javascript

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// vendored is a tree with packages as package managers leave them.
var vendored = map[string]string{
	"node_modules/plain/index.js":                   `exports.name = 'plain'`,
	"node_modules/single.js":                        `exports.name = 'single'`,
	"node_modules/old/package.json":                 `{"name": "old", "main": "./lib/old", "sideEffects": false}`,
	"node_modules/old/lib/old.js":                   `const { name } = require('nested'); module.exports = { name: 'old of ' + name, part: require('./part') }`,
	"node_modules/old/lib/part/package.json":        `{"main": "there"}`,
	"node_modules/old/lib/part/there.js":            `module.exports = 'part'`,
	"node_modules/old/extra.js":                     `module.exports = { name: 'extra' }`,
	"node_modules/old/node_modules/nested/index.js": `exports.name = 'nested'`,
	"node_modules/nested/index.js":                  `exports.name = 'outer'`,
	"node_modules/@scope/both/package.json":         `{"main": "b.cjs", "module": "b.mjs"}`,
	"node_modules/@scope/both/b.cjs":                `exports.name = 'CommonJS'`,
	"node_modules/@scope/both/b.mjs":                `export const name = 'ES'`,
	"node_modules/modern/package.json":              `{"type": "module", "main": "nowhere.js", "exports": {".": {"types": "./m.d.ts", "browser": "./nowhere.js", "import": "./m.mjs", "require": {"default": "./m.cjs"}}, "./package.json": "./package.json", "./sub": [{"browser": "./nowhere"}, "./sub.js"], "./any/*": "./lib/*.js", "./any/odd/*": "./odd/*.js", "./folder/": "./lib/", "./hidden/*": null}, "imports": {"#own": {"default": "./own.js"}, "#plain": "plain", "#lib/*": "./lib/*.js"}}`,
	"node_modules/modern/m.mjs":                     `import { own } from '#own'; import * as plain from '#plain'; import { name as lib } from '#lib/a'; export const name = ['ES', own, plain.name, lib].join()`,
	"node_modules/modern/m.cjs":                     `exports.name = 'CommonJS'`,
	"node_modules/modern/own.js":                    `export const own = 'own'`,
	"node_modules/modern/sub.js":                    `export const name = 'sub'`,
	"node_modules/modern/lib/a.js":                  `export const name = 'a'`,
	"node_modules/modern/odd/a.js":                  `export const name = 'odd'`,
	"node_modules/only/package.json":                `{"exports": "./only.js"}`,
	"node_modules/only/only.js":                     `export const name = 'only'`,
	"node_modules/careful/index.js":                 `let name = 'without'; try { name = require('crypto').name } catch (e) { name += ': ' + e.message } exports.name = name`,
	"node_modules/careless/index.js":                `exports.name = require('fs').name`,
	"node_modules/environment/index.js":             `exports.name = [typeof global, global === globalThis, process.env.NODE_ENV].join()`,
	"node_modules/broken/package.json":              `{`,
	"loop/package.json":                             `{"imports": {"#a": "#b", "#b": "#a", "#root": "/etc/hosts"}}`,
	"node_modules/events/index.js":                  `exports.name = 'events in pure JavaScript'`,
	"node_modules/libretto/index.js":                `exports.hash = () => 'not the host'`,
	"site/node_modules/plain/index.js":              `exports.name = 'nearer'`,
	"node_modules/text/index.js":                    `exports.name = require('./name.txt')`,
	"node_modules/text/name.txt":                    "text",
}

// importing returns a script of that path in the tree with packages.
func importing(path, text string) engines.Source {
	all := map[string]string{path: text}
	maps.Copy(all, vendored)
	return files(path, all)
}

func TestPackages(t *testing.T) {
	const ofNode = `it is a module of Node.js, and scripts have none of these: do without it, or add a package node_modules/crypto in pure JavaScript`
	cases := map[string]struct{ reason, imported, byImport, byRequire string }{
		"folder":       {"a package is a folder with an index", "plain", "plain", "plain"},
		"file":         {"or a file", "single", "single", "single"},
		"main":         {"or what package.json names, and its own packages go first", "old", "old of nested", "old of nested"},
		"within":       {"parts of a package have paths", "old/extra", "extra", "extra"},
		"with ending":  {"with or without an ending", "old/extra.js", "extra", "extra"},
		"scope":        {"names may have two parts, and modules two forms", "@scope/both", "ES", "CommonJS"},
		"exports":      {"exports go before main, by condition", "modern", "ES,own,plain,a", "CommonJS"},
		"subpath":      {"the first that holds of several counts", "modern/sub", "sub", "sub"},
		"pattern":      {"a star stands for the rest", "modern/any/a", "a", "a"},
		"best pattern": {"the longest goes first", "modern/any/odd/a", "odd", "odd"},
		"old pattern":  {"a folder is one too", "modern/folder/a.js", "a", "a"},
		"one export":   {"exports may be one path", "only", "only", "only"},
		"optional":     {"what is required in vain can be caught", "careful", `without: can't import "crypto": ` + ofNode, `without: can't import "crypto": ` + ofNode},
		"environment":  {"packages ask where they run", "environment", "object,true,production", "object,true,production"},
		"stand-in":     {"packages of Node's names stand in for its modules", "events", "events in pure JavaScript", "events in pure JavaScript"},
		"text":         {"files that are no code are texts", "text", "text", "text"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			for text, want := range map[string]string{
				`import * as m from %q; export const sync = () => m.name`:           c.byImport,
				`const m = require(%q); exports.sync = () => m.name`:                c.byRequire,
				`export const sync = async () => (await import(%q)).name`:           c.byImport,
				`import { name } from %q; export default { sync() { return name }}`: c.byImport,
			} {
				text = fmt.Sprintf(text, c.imported)
				if diff := cmp.Diff(any(want), answer(t, importing("lib/hooks.js", text), map[string]any{})); diff != "" {
					t.Errorf("%s\nanswer (-want +got):\n%s", text, diff)
				}
			}
		})
	}
}

func TestNearestPackage(t *testing.T) {
	for path, want := range map[string]string{"hooks.js": "plain", "site/hooks.js": "nearer", "site/a/b/hooks.js": "nearer"} {
		src := importing(path, `import { name } from "plain"; export const sync = () => name`)
		if diff := cmp.Diff(any(want), answer(t, src, map[string]any{})); diff != "" {
			t.Errorf("from %s (-want +got):\n%s", path, diff)
		}
	}
	src := importing("hooks.js", `import { hash } from "libretto"; export const sync = () => hash(1) !== "not the host" && "ok"`)
	if diff := cmp.Diff(any("ok"), answer(t, src, map[string]any{})); diff != "" {
		t.Errorf("the host's module (-want +got):\n%s", diff)
	}
}

func TestPackageErrors(t *testing.T) {
	const at = "hooks.js:1:7: can't import "
	for imported, want := range map[string]string{
		"@scope/none":     at + `"@scope/none": there is no node_modules/@scope/none beside or above hooks.js: add the package to scriptSources`,
		"old/none":        at + `"old/none": there is no node_modules/old beside or above hooks.js`,
		"modern/lib/a.js": at + `"modern/lib/a.js": exports of node_modules/modern/package.json has nothing for it that is there`,
		"modern/hidden/a": at + `"modern/hidden/a": exports of node_modules/modern/package.json has nothing for it`,
		"broken":          at + `"broken": node_modules/broken/package.json: unexpected end of JSON input`,
		"#own":            at + `"#own": imports of package.json has nothing for it that is there`,
		"node:events":     at + `"node:events": it is a module of Node.js`,
	} {
		got := compileError(t, importing("hooks.js", fmt.Sprintf("import%q; export const sync = 1", imported)))
		if got == nil || got.Kind != engines.Invalid || !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%s: error\n%v, want one that starts with\n%s", imported, got, want)
		}
	}
}

// TestImportsThatLeadBack has names of a package lead to each other, which must end.
func TestImportsThatLeadBack(t *testing.T) {
	for imported, target := range map[string]string{"#a": "#b", "#root": "/etc/hosts"} {
		want := fmt.Sprintf("loop/hooks.js:1:7: can't import %q: imports of loop/package.json lead to %q, which must be a path", imported, target)
		got := compileError(t, importing("loop/hooks.js", fmt.Sprintf("import%q; export const sync = 1", imported)))
		if got == nil || got.Kind != engines.Invalid || !strings.HasPrefix(got.Error(), want) {
			t.Errorf("%s: error\n%v, want one that starts with\n%s", imported, got, want)
		}
	}
}

// TestMissingInPackages shows that what a package requires in vain is a warning with its place,
// and an error if it is needed.
func TestMissingInPackages(t *testing.T) {
	program, err := caller.Compile(t, importing("hooks.js", `import { name } from "careful"; export const sync = () => name`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `node_modules/careful/index.js:1:44: can't import "crypto": it is a module of Node.js`
	if got := program.Warnings(); len(got) != 1 || !strings.HasPrefix(got[0].Error(), want) {
		t.Errorf("warnings %v, want %s", got, want)
	}
	needed := compileError(t, importing("hooks.js", `import { name } from "careless"; export const sync = () => name`))
	const why = `node_modules/careless/index.js:1:16: can't import "fs": it is a module of Node.js`
	if needed == nil || !strings.HasPrefix(needed.Error(), why) || needed.Kind != engines.Invalid {
		t.Fatalf("error %v, want %s", needed, why)
	}
	if diff := cmp.Diff([]string{"at node_modules/careless/index.js:1:16", "at hooks.js:1:22"}, needed.Stack); diff != "" {
		t.Errorf("stack (-want +got):\n%s", diff)
	}
}
