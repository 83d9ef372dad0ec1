package javascript

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

func TestModules(t *testing.T) {
	cases := map[string]struct {
		reason, path string
		files        map[string]string
	}{
		"ES module":        {"the hook's name is looked for first", "a.js", map[string]string{"a.js": `export function sync() { return 'ok' } export default () => 'default'`}},
		"default export":   {"then the default", "a.mjs", map[string]string{"a.mjs": `export default () => 'ok'; export const finalize = () => 'finalize'`}},
		"default object":   {"an object of functions, as in Jsonnet", "a.js", map[string]string{"a.js": `export default { sync() { return this.text }, finalize() {}, text: 'ok' }`}},
		"both":             {"what is exported by name goes first", "a.js", map[string]string{"a.js": `export const sync = () => 'ok'; export default { sync: () => 'default' }`}},
		"instance":         {"methods may be of a class", "a.ts", map[string]string{"a.ts": `class C { #text = 'ok'; sync() { return this.#text } } export default new C()`}},
		"compiled":         {"what a compiler made of it", "a.js", map[string]string{"a.js": `Object.defineProperty(exports, '__esModule', {value: true}); exports.default = { sync: () => 'ok' }`}},
		"exported object":  {"CommonJS as one object", "a.cjs", map[string]string{"a.cjs": `module.exports = { text: 'ok', sync() { return this.text } }`}},
		"exports":          {"CommonJS by name", "a.cjs", map[string]string{"a.cjs": `exports.sync = () => 'ok'`}},
		"module.exports":   {"CommonJS as one function", "a.js", map[string]string{"a.js": `module.exports = async function () { return 'ok' }`}},
		"TypeScript":       {"types are dropped", "a.ts", map[string]string{"a.ts": `enum E { A = 'ok' } interface I { e: E } export const sync = (r: any): E => ({ e: E.A } satisfies I).e as E`}},
		"endings":          {"endings may be left out", "a.ts", map[string]string{"a.ts": `import {ok} from './b'; export const sync = () => ok`, "b.ts": `export const ok = 'ok'`}},
		"index":            {"a folder stands for its index", "a.js", map[string]string{"a.js": `import {ok} from './lib'; export const sync = () => ok`, "lib/index.mjs": `export const ok = 'ok'`}},
		"up":               {"paths are relative to the importer", "hooks/a.js", map[string]string{"hooks/a.js": `import {ok} from '../lib/b.js'; export const sync = () => ok`, "lib/b.js": `export {ok} from './c'`, "lib/c.js": `export const ok = 'ok'`}},
		"js for ts":        {"TypeScript's own way to write imports", "a.ts", map[string]string{"a.ts": `import {ok} from './b.js'; export const sync = () => ok`, "b.ts": `export const ok = 'ok'`}},
		"require":          {"CommonJS imports", "a.js", map[string]string{"a.js": `const {ok} = require('./b'); exports.sync = () => ok`, "b.cjs": `exports.ok = 'ok'`}},
		"JSON":             {"data can be imported", "a.js", map[string]string{"a.js": `import data, {ok} from './data.json'; export const sync = () => data.ok === ok && ok`, "data.json": `{"ok": "ok"}`}},
		"text":             {"anything else is text", "a.js", map[string]string{"a.js": `import text from './text.yaml'; export const sync = () => text`, "text.yaml": `ok`}},
		"dynamic import":   {"the module is in the bundle already", "a.js", map[string]string{"a.js": `export const sync = async () => (await import('./b.js')).ok`, "b.js": `export const ok = 'ok'`}},
		"cycle":            {"modules may import each other", "a.js", map[string]string{"a.js": `import {f} from './b.js'; export const ok = () => 'ok'; export const sync = () => f()`, "b.js": `import {ok} from './a.js'; export const f = () => ok()`}},
		"reexport of CJS":  {"names that are known only when it runs", "a.js", map[string]string{"a.js": `export * from './b.cjs'`, "b.cjs": `module.exports = {sync: () => 'ok'}`}},
		"strict":           {"ES modules are strict", "a.js", map[string]string{"a.js": `export function sync() { try { undeclared = 1 } catch { return 'ok' } }`}},
		"sloppy":           {"CommonJS is not", "a.js", map[string]string{"a.js": `exports.sync = () => { undeclared = 'ok'; return undeclared }`}},
		"hash bang":        {"as editors like it", "a.js", map[string]string{"a.js": "#!/usr/bin/env node\nexport const sync = () => 'ok'"}},
		"odd name":         {"paths are not URLs", "a b%20ü.js", map[string]string{"a b%20ü.js": `export const sync = () => 'ok'`}},
		"lowered features": {"what goja lacks is rewritten", "a.ts", map[string]string{"a.ts": `export function sync() { let s = ''; { using x = { [Symbol.dispose ?? Symbol.for('Symbol.dispose')]() { s += 'k' } } as any; s += 'o' } return s }`}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(any("ok"), answer(t, files(c.path, c.files), map[string]any{})); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFunction(t *testing.T) {
	src := script(`export function sync() { return 'sync' } export function finalize() { return 'finalize' }`)
	src.Script.Function = "finalize"
	if diff := cmp.Diff(any("finalize"), answer(t, src, map[string]any{})); diff != "" {
		t.Errorf("function finalize answered (-want +got):\n%s", diff)
	}
	src = script(`export default { sync() { return 'sync' }, finalize() { return 'finalize' } }`)
	src.Script.Function = "finalize"
	if diff := cmp.Diff(any("finalize"), answer(t, src, map[string]any{})); diff != "" {
		t.Errorf("function finalize of the default export answered (-want +got):\n%s", diff)
	}
}

func TestCompileErrors(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"syntax":           {"the place is the author's", "\nexport function sync() { return ] }", `sync.js:2:33: Unexpected "]"`},
		"export":           {"the name that was meant is reported", `import {objectOf} from 'libretto'; export const sync = () => objectOf()`, `sync.js:1:9: No matching export in "<libretto>" for import "objectOf": did you mean objectsOf?`},
		"end":              {"it is where the author's text ends", "const a = 1;\nexport const sync = () => {", `sync.js:2:28: Unexpected end of file`},
		"end of line":      {"an empty line is one too", "export const sync = () => {\n", `sync.js:2:1: Unexpected end of file`},
		"several":          {"the others are counted, and are in the stack", "const a = 1;\nconst a = 2;\nconst a = 3;\nconst a = 4;", `sync.js:2:7: The symbol "a" has already been declared (and 2 more)`},
		"package":          {"there is nothing to install", `import _ from 'lodash'`, `sync.js:1:15: can't import "lodash": there is no node_modules/lodash beside or above sync.js: add the package to scriptSources, or write ./ or ../ if it is a file of yours: there are sync.js`},
		"node":             {"nor has Node.js anything here", `const fs = require('node:fs')`, `sync.js:1:20: can't import "node:fs": it is a module of Node.js, and scripts have none of these: do without it, or add a package node_modules/fs in pure JavaScript`},
		"node's own":       {"by either name", `import { readFile } from 'fs/promises'`, `sync.js:1:26: can't import "fs/promises": it is a module of Node.js, and scripts have none of these: do without it, or add a package node_modules/fs in pure JavaScript`},
		"URL":              {"nothing is fetched", `import x from 'https://example.com/x.js'`, `sync.js:1:15: can't import "https://example.com/x.js": nothing is fetched: add the file to scriptSources, and write its path`},
		"default object":   {"its functions are hooks", "export default { finalize() {} }", `sync.js: no export "sync", by name or in the default export: that has finalize`},
		"default constant": {"it is no hook", "export default 1", `sync.js: the default export is neither a function nor an object of functions`},
		"not a method":     {"a constant can't be called", "export default { sync: 1 }", `sync.js: "sync" of the default export is not a function`},
		"absolute":         {"nor is there a disk", `import '/etc/passwd'`, `sync.js:1:8: can't import "/etc/passwd": there are only the files of this definition (write ./ or ../): there are sync.js`},
		"missing":          {"the message says what there is", `import './b.js'`, `sync.js:1:8: can't import "./b.js": there is no file "b.js", with or without an ending: there are sync.js`},
		"outside":          {"the tree is all there is", `import '../../etc/passwd'`, `sync.js:1:8: can't import "../../etc/passwd": it leaves the files of this definition: there are sync.js`},
		"no such export":   {"the message says what there is", "export const finalize = () => 1, other = 2", `sync.js: no export "sync" or "default": the script exports finalize, other`},
		"no export":        {"the message says so", "const sync = 1", `sync.js: no export "sync" or "default": the script exports nothing by name`},
		"no function":      {"a constant can't be called", "export const sync = 1", `sync.js: the export "sync" is not a function`},
		"pattern":          {"what esbuild takes, goja may not", "\n\nexport const sync = () => /a/v", `sync.js:3:27: Invalid flags supplied to RegExp constructor 'v'`},
		"bad pattern":      {"what esbuild takes, goja may not", "\n\nexport const sync = () => /(/", `sync.js:3:27: Unterminated group`},
		"property pattern": {"goja would let it match nothing", `export const sync = (r) => [r].map((x) => ({a: /^\p{Emoji}+$/u.test(x)}))`, `sync.js:1:48: regular expressions know no property \p{Emoji}: there are categories`},
		"top-level await":  {"nothing could end it", "export const sync = 1\nawait sync", `sync.js:2:1: await stands outside of a function`},
		"top-level throw":  {"modules run at load, to find their exports", "export const sync = () => 1\nnull.x", `sync.js:2:6: TypeError: Cannot read property 'x' of undefined`},
		"nesting":          {"the parsers recurse", "export const sync = () => " + strings.Repeat("[", 501) + strings.Repeat("]", 501), "sync.js: brackets are nested more than 500 deep"},
		"size":             {"the parsers take memory", "//" + strings.Repeat("x", 1<<20), "sync.js: with this file the script imports more than 1024 KiB: import less"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got := compileError(t, script(c.text))
			if got == nil || got.Kind != engines.Invalid || !strings.HasPrefix(got.Error(), c.want) {
				t.Errorf("error\n%v, want one of kind %s that starts with\n%s", got, engines.Invalid.Reason(), c.want)
			}
		})
	}
}

func TestMissingEntry(t *testing.T) {
	got := compileError(t, files("b.js", map[string]string{"a.js": ""}))
	if got == nil || got.Error() != "b.js: no such file: there are a.js" {
		t.Errorf("error %v", got)
	}
}

func TestEndlessModule(t *testing.T) {
	src := script("export const sync = () => 1\nfor (let i = 0;; i++);")
	built, err := bundle(src.Script, false)
	if err != nil {
		t.Fatal(err)
	}
	code, err := built.compile()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	got := enginetest.AsError(t, (&program{code: code, script: src.Script, export: wanted(src)}).load(ctx))
	if got == nil || got.Kind != engines.Timeout || got.Location.Line != 2 {
		t.Errorf("error %v, want a timeout in line 2", got)
	}
}

// TestSourceMapsAreNotFollowed returns scripts maps to follow: if one were, the
// error would be in stolen.ts, and a script could read the host's files.
func TestSourceMapsAreNotFollowed(t *testing.T) {
	const sourceMap = `{"version":3,"sources":["stolen.ts"],"names":[],"mappings":"AAAA;AAAA;AAAA"}`
	path := filepath.Join(t.TempDir(), "sync.js.map")
	if err := os.WriteFile(path, []byte(sourceMap), 0o600); err != nil {
		t.Fatal(err)
	}
	inline := "data:application/json;base64," + base64.StdEncoding.EncodeToString([]byte(sourceMap))
	for _, url := range []string{"file://" + path, path, inline} {
		for _, comment := range []string{"\n//# sourceMappingURL=%s", "\n/*# sourceMappingURL=%s */"} {
			src := script("export function sync() {\n  throw new Error('boom') }" + fmt.Sprintf(comment, url))
			_, failure := run(t, src, map[string]any{}, time.Minute)
			if failure == nil || failure.Location.String() != "sync.js:2:9" {
				t.Errorf("with %q: error %v, want one at sync.js:2:9", url, failure)
			}
		}
	}
}

// TestUndeclared checks which names are warned of that nothing declares: those that can be nothing else.
func TestUndeclared(t *testing.T) {
	cases := map[string]struct {
		reason, code, want string
	}{
		"misspelt":   {"the name that is like it is told", "let interval = request.a; return [interval, intervall]", "a.js:2:45: intervall is not defined: did you mean interval?"},
		"timer":      {"there is a way to do it here", "setTimeout(() => {}, 1)", "a.js:2:1: setTimeout is not defined: there are no timers: return resyncAfterSeconds"},
		"nothing":    {"there may be nothing like it", "return xyzzy(1)", "a.js:2:8: xyzzy is not defined: declare it, or correct its name"},
		"asked for":  {"the script asks whether it is there", "return typeof window === 'undefined'", ""},
		"field":      {"the name of a field is none of a value", "return request.intervall + { other: 1 }.other", ""},
		"everything": {"there are many ways to declare", "const { a, b: [c] } = request; class D {}; for (const e of c) try { f(a, D, e) } catch (g) { return g } function f(...h) { return h }", ""},
		"globals":    {"the language and the host have some", "console.log(undefined, NaN, Math.max(1), new Map(), structuredClone({}), new TextEncoder(), globalThis, Iterator, arguments)", ""},
		"label":      {"it is declared by standing there", "x: for (;;) break x", ""},
		"shorthand":  {"it is a value and a field", "return { size }", "a.js:2:10: size is not defined"},
		"packages":   {"they may ask for what they like", "return lib", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			text := "import lib from 'lib'; export default function (request) {\n" + c.code + "\n}"
			script := &engines.Script{Path: "a.js", Outline: true, Files: engines.Files{"a.js": text, "node_modules/lib/index.js": "module.exports = () => somewhere"}}
			program, err := engine{}.Compile(t.Context(), engines.Source{Hook: "sync", Script: script})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, warning := range program.Warnings() {
				got += warning.Error()
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("warnings %q, want %q", got, c.want)
			}
		})
	}
}
