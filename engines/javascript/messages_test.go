package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// TestMessages has the messages of calls in docs/design/messages.md that the JavaScript engine writes: each names the value, its place
// and what to do.
func TestMessages(t *testing.T) {
	const orDefault = ": look whether it is there, or write ?? {} or ?? []"
	cases := map[string]struct{ reason, body, want string }{
		"destructured":       {"goja says: Value is not object coercible", `const { a } = request.spec.nope`, "sync.js:2:28: TypeError: a value is undefined or null where an object or a list is needed, in request.spec.nope" + orDefault},
		"spread":             {"goja says: Cannot convert undefined or null to object", `return [...request.spec.nope]`, "sync.js:2:25: TypeError: a value is undefined or null where an object or a list is needed, in request.spec.nope" + orDefault},
		"iterated":           {"the same for loops", `for (const x of request.spec?.nope) {}`, "sync.js:2:31: TypeError: a value is undefined or null where an object or a list is needed, in request.spec?.nope" + orDefault},
		"keys":               {"an argument is not there", `Object.keys(request.spec["nope"])`, `sync.js:2:8: TypeError: undefined or null is given where an object is needed, in Object.keys(request.spec["nope"]): look whether it is there, or write ?? {}`},
		"undefined function": {"goja says: Value is not an object: undefined", `const { f } = {}; f({ a: 1 })`, "sync.js:2:19: TypeError: f is not a function: it is undefined"},
		"argument":           {"the same words of goja are about an argument here", `new Map([1])`, "sync.js:2:1: TypeError: an object is needed, and there is 1, in new Map([1])"},
		"built-in":           {"and here, although it is called", `Reflect.ownKeys(5)`, "sync.js:2:9: TypeError: an object is needed, and there is 5, in Reflect.ownKeys(5)"},
		"no method":          {"goja says: Object has no member 'map'", `request.spec.map((x) => x)`, "sync.js:2:14: TypeError: request.spec.map is not a function: request.spec has no map"},
		"no class":           {"goja says: Value is not a constructor", `new request.spec()`, "sync.js:2:1: TypeError: new is for classes, and this is none, in new request.spec()"},
		"reduce":             {"goja says: No initial value", `[].reduce((a, b) => a + b)`, "sync.js:2:4: TypeError: reduce of an empty list needs a first value as its second argument, in [].reduce((a, b) => a + b)"},
		"JSON":               {"goja says: invalid character 'a'", `JSON.parse("{a: 1}")`, `sync.js:2:6: SyntaxError: invalid character 'a': the text that JSON.parse is given is no JSON, in JSON.parse("{a: 1}")`},
		"fetch":              {"what other runtimes have", `fetch("http://example.com")`, "sync.js:2:1: ReferenceError: fetch is not defined: scripts have no network: ask for objects of the cluster in a customize hook, or write the hook as a webhook"},
		"setTimeout":         {"what other runtimes have", `setTimeout(() => {}, 1)`, "sync.js:2:1: ReferenceError: setTimeout is not defined: there are no timers: return resyncAfterSeconds to be called again"},
		"process":            {"what other runtimes have", `process.env.HOME`, "sync.js:2:1: ReferenceError: process is not defined: that is Node.js: settings of a script come in request.parameters"},
		"never":              {"a promise has no place: the file is reported", `return new Promise(() => {})`, "sync.js: the promise never settles: there are no timers and no network here that could settle it"},
		"misspelt method":    {"what is called stands after a call", `Object.values(request.spec).fliter((x) => x)`, "sync.js:2:29: TypeError: Object.values(request.spec).fliter is not a function: did you mean filter?"},
		"of a condition":     {"and after brackets", `(request.spec.nope ?? []).fliter((x) => x)`, "sync.js:2:27: TypeError: (request.spec.nope ?? []).fliter is not a function: did you mean filter?"},
		"on its own line":    {"what it is called of is on another line", "Object.values({})\n.jion()", "sync.js:3:2: TypeError: jion is not a function: did you mean join?"},
		"of an object":       {"Object has its own functions", `Object.vales({})`, "sync.js:2:8: TypeError: Object.vales is not a function: did you mean values?"},
		"after many calls":   {"the end of a long text is quoted", `[1].map((x) => x).filter((x) => x === 1).flatMap((x) => [x, x]).reverze()`, "sync.js:2:65: TypeError: ... => x).filter((x) => x === 1).flatMap((x) => [x, x]).reverze is not a function: did you mean reverse?"},
		"no list":            {"goja says: object is not iterable", `for (const x of request.spec) {}`, "sync.js:2:25: TypeError: a list is needed, and there is none, in request.spec: Object.values(x) and Object.entries(x) list an object's fields"},
		"no function":        {"goja says: Dynamic object is not callable", `request.spec(1)`, "sync.js:2:9: TypeError: request.spec is not a function: it is an object or a list"},
		"own object":         {"goja says: Not a function: [object Object]", `const a = {b: {}}; a.b(1)`, "sync.js:2:22: TypeError: a.b is not a function: it is an object or a list"},
		"no callback":        {"goja says: Value is not an object: 5, as for a call of 5", `[1].map(5)`, "sync.js:2:5: TypeError: a function is needed, and there is 5, in [1].map(5)"},
		"text as callback":   {"goja says: name is not a function", `[1].filter("name")`, `sync.js:2:5: TypeError: a function is needed, and there is name, in [1].filter("name")`},
		"object as callback": {"goja says: Value is not callable: [object Object]", `[1].find(request.spec)`, `sync.js:2:5: TypeError: a function is needed, and there is [object Object], in [1].find(request.spec)`},
		"several lines":      {"arguments that go on on another line are left out", "Object.keys(request.spec.nope,\n1)", "sync.js:2:8: TypeError: undefined or null is given where an object is needed, in Object.keys(...): look whether it is there, or write ?? {}"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			_, got := run(t, script("exports.sync = function sync(request) {\n"+c.body+"\n}"), map[string]any{"spec": map[string]any{}}, time.Minute)
			if got == nil || got.Error() != c.want {
				t.Errorf("message\n%v, want\n%s", got, c.want)
			}
		})
	}
}

// TestLoadMessages has those of scripts that do not load.
func TestLoadMessages(t *testing.T) {
	const hook = "export function sync() {}\n"
	cases := map[string]struct{ reason, path, text, want string }{
		"misspelt name":     {"also if nothing uses it", "sync.js", `import { deploymnt } from "libretto";`, `sync.js:1:10: No matching export in "<libretto>" for import "deploymnt": did you mean deployment?`},
		"JSON":              {"the name of a field is no name with a type", "sync.js", `{"children": []}`, `sync.js:1:12: Expected ";" but found ":": that is JSON, and a script is code: export function sync() { return {...} }`},
		"unused TypeScript": {"TypeScript would drop the import", "sync.ts", "import { CompositeRequest, deployment,\n  servce } from \"libretto\";", `sync.ts:2:3: No matching export in "<libretto>" for import "servce": did you mean service?`},
		"by the module":     {"it would be undefined, and throw only when it is called", "sync.js", "import * as libretto from \"libretto\";\nexport const f = () => libretto.objectOf();", `sync.js:2:33: No matching export in "<libretto>" for "objectOf": did you mean objectsOf?`},
		"type as value":     {"types are no values", "sync.js", `import { CompositeRequest } from "libretto";`, `sync.js:1:10: No matching export in "<libretto>" for import "CompositeRequest": it is a type: write import type`},
		"no default":        {"the module has names alone", "sync.js", `import x from "./lib";`, `sync.js:1:8: No matching export in "lib.js" for import "default": it has no default export: write import * as NAME for all of it, or import { b }`},
		"own file":          {"the exports are listed", "sync.js", `import { a } from "./lib";`, `sync.js:1:10: No matching export in "lib.js" for import "a": there are b, c`},
		"JSX":               {"esbuild says: The JSX syntax extension is not currently enabled", "sync.js", `const a = <b/>;`, `sync.js:1:11: Unexpected "<": scripts have no JSX and no HTML: a text is put in quotes`},
		"await":             {"esbuild names its targets", "sync.js", `await null;`, "sync.js:1:1: await stands outside of a function: a module can't wait: write it into the hook's function, and make that async"},
		"type in JS":        {"esbuild says only what it expected", "sync.js", `export const f = (a: any) => a;`, `sync.js:1:20: Expected ")" but found ":": if it is a type, that is TypeScript: name the file .ts, or leave the type out`},
		"end of file":       {"what is not closed is anywhere before", "sync.js", "const a = 1; {", "Unexpected end of file: a bracket, a quote or a comment that was opened is not closed"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			text := c.text + "\n" + hook
			if name == "end of file" {
				text = hook + c.text
			}
			src := files(c.path, map[string]string{c.path: text, "lib.js": "export const b = 1;\nexport function c() {}\n"})
			_, err := Definition().New(engines.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err = (engine{}).Compile(t.Context(), src); err == nil || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("message\n%v, want\n%s", err, c.want)
			}
		})
	}
}

// TestUnusedImports compiles TypeScript whose imports esbuild drops.
func TestUnusedImports(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"missing file":    {"it could be meant for its effect", `import { x } from "./nope";`, `sync.ts:1:20: can't import "./nope": there is no file "nope"`},
		"missing name":    {"nothing in the text of the module has it", `import { nope } from "./types";`, `sync.ts:1:10: No matching export in "types.ts" for import "nope"`},
		"types":           {"they are erased", `import { Site } from "./types"; export const f = (s: Site) => s;`, ""},
		"said to be":      {"types of a file that is for editors alone", `import type { Site } from "./resources";`, ""},
		"types of module": {"the host's module has types too", `import { CompositeRequest } from "libretto"; export const f = (r: CompositeRequest) => r;`, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := files("sync.ts", map[string]string{"sync.ts": c.text + "\nexport function sync() {}\n", "types.ts": "export interface Site {}\nexport const a = 1;\n"})
			program, err := (engine{}).Compile(t.Context(), src)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if warnings := program.Warnings(); len(warnings) > 0 {
				got = warnings[0].Error()
			}
			if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("warning\n%s, want\n%s", got, c.want)
			}
		})
	}
}

// TestUncheckedGlobals compiles scripts with the global that types have and the runtime does not.
func TestUncheckedGlobals(t *testing.T) {
	const advice = "there is no Intl: it is not supported: there is no locale"
	cases := map[string]struct{ reason, path, text, want string }{
		"used":    {"no types find it", "sync.js", "export const sync = () =>\n  1 + new Intl.NumberFormat().format(1)", "sync.js:2:11: " + advice},
		"typed":   {"nor in TypeScript", "sync.ts", "export const sync = (n: number) => Intl.NumberFormat().format(n)", "sync.ts:1:36: " + advice},
		"asked":   {"the script can do without", "sync.js", "export const sync = () => typeof Intl === 'undefined' ? 1 : Intl.NumberFormat", ""},
		"its own": {"it is a variable", "sync.js", "const Intl = { a: 1 }; export const sync = () => Intl.a", ""},
		"text":    {"it is in no code", "sync.js", "export const sync = () => 'Intl' // Intl", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program, err := (engine{}).Compile(t.Context(), files(c.path, map[string]string{c.path: c.text}))
			if err != nil {
				t.Fatal(err)
			}
			var got string
			if warnings := program.Warnings(); len(warnings) > 0 {
				got = warnings[0].Error()
			}
			if got != c.want {
				t.Errorf("warning %q, want %q", got, c.want)
			}
		})
	}
}

// TestManyParameters checks that a hook that takes more than one parameter is warned of, and that its error says so.
func TestManyParameters(t *testing.T) {
	const advice = "a hook is given one object: write ({ parent, children }) in place of (parent, children)"
	cases := map[string]struct{ reason, text, warning, want string }{
		"property":     {"goja says: Cannot read property 'name' of undefined", "export function sync(parent, children) { return children.name }", "sync.js: " + advice, "sync.js:1:58: TypeError: Cannot read property 'name' of undefined: " + advice},
		"argument":     {"what is given is undefined", "export default { sync: (parent, children) => Object.keys(children) }", "sync.js: " + advice, "sync.js:1:53: TypeError: undefined or null is given where an object is needed, in Object.keys(children): " + advice},
		"request":      {"the first is the request", "export const sync = (request, response) => response.body", "sync.js: a hook is given one object, request: leave out response, which is always undefined", "sync.js:1:53: TypeError: Cannot read property 'body' of undefined: a hook is given one object, request: "},
		"one":          {"it is given the request", "export const sync = (request) => request.nope.name", "", "sync.js:1:47: TypeError: Cannot read property 'name' of undefined"},
		"defaults":     {"the second is for tests", "export const sync = (request, now = 1) => request.nope.name", "", "sync.js:1:56: TypeError: Cannot read property 'name' of undefined"},
		"destructured": {"it is one", "export const sync = ({ parent, children }) => parent.a.b.c", "", "sync.js:1:56: TypeError: Cannot read property 'b' of undefined"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program, err := (engine{}).Compile(t.Context(), script(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var warning string
			if warnings := program.Warnings(); len(warnings) > 0 {
				warning = warnings[0].Error()
			}
			if warning != c.warning {
				t.Errorf("warning %q, want %q", warning, c.warning)
			}
			_, err = program.Run(t.Context(), engines.Call{Request: map[string]any{"parent": map[string]any{}}, Now: time.Unix(0, 0)})
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("message\n%v, want\n%s", err, c.want)
			}
		})
	}
}
