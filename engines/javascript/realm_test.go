package javascript

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// stateful is a package with state of all kinds: counters, caches, patterns that go on, classes, and what a call can reach of them.
const stateful = `
let calls = 0;
const memory = new Map(), seen = new Set(), beside = new WeakMap(), key = {}, pattern = /a/g;
class Counter { static #all = 0; #own = 0; count() { return ++Counter.#all + ++this.#own } }
exports.counter = new Counter();
exports.options = { list: [] };
exports.defaults = Object.freeze({ a: 1 });
exports.count = () => {
	calls++; seen.add(calls); memory.set('calls', (memory.get('calls') ?? 0) + 1); beside.set(key, (beside.get(key) ?? 0) + 1);
	pattern.exec('aaaa');
	return [calls, seen.size, memory.get('calls'), beside.get(key), pattern.lastIndex, exports.counter.count()].join();
};`

// withState returns a script that imports the package with state.
func withState(text string) engines.Source {
	return files("sync.js", map[string]string{"sync.js": text, "node_modules/stateful/index.js": stateful})
}

func compiled(t *testing.T, src engines.Source) engines.Program {
	t.Helper()
	program, err := engine{}.Compile(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func answerOf(t *testing.T, program engines.Program, call engines.Call) any {
	t.Helper()
	response, err := program.Run(t.Context(), call)
	if err != nil {
		return err.Error()
	}
	return response.Body
}

func callAt(second int64, seed string, request map[string]any) engines.Call {
	return engines.Call{Request: request, Now: time.Unix(second, 0), Seed: seed}
}

// TestCallsShareNothing has scripts that leave in a package, in the language or in their own modules what the next call could find.
func TestCallsShareNothing(t *testing.T) {
	cases := map[string]struct{ reason, body string }{
		"counters":      {"a package counts", `return s.count() + s.count()`},
		"exports":       {"what it exports is changed", `s.extra = (s.extra ?? 0) + 1; s.options.list.push(1); return [s.extra, s.options.list.length].join()`},
		"function":      {"a function of it is replaced", `const before = s.count; s.count = () => 'mine'; return before.name + s.count()`},
		"class":         {"a method of its class", `const p = Object.getPrototypeOf(s.counter), was = p.count.length; p.count = (a, b) => 0; return was`},
		"frozen":        {"what it froze stays so", `try { s.defaults.a++ } catch (e) { return e.message }; return s.defaults.a`},
		"prototypes":    {"the prototypes of all objects", `const was = ({}).left; Object.prototype.left = 1; Array.prototype.left = 1; return String(was)`},
		"built-ins":     {"functions of the language", `const was = JSON.stringify({a: 1}); JSON.stringify = () => 'mine'; globalThis.Map = 1; return was`},
		"globals":       {"names for all", `globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n`},
		"own module":    {"a module of the author's", `own.n++; own.list.unshift(own.n); return [own.n, own.list.length].join()`},
		"own variable":  {"and a variable in it", `return ++variable`},
		"request":       {"a request of an earlier call", `own.before ??= request.who; return [own.before, own.requests.push(request)].join()`},
		"symbol":        {"symbols that are found by name", `const sym = Symbol.for('x'); own[sym] = (own[sym] ?? 0) + 1; return own[sym]`},
		"promise":       {"jobs of promises", `return Promise.resolve().then(() => s.count())`},
		"pending":       {"a promise that never settles, and what it would do", `new Promise(() => {}).then(() => { own.n = 100 }); return own.n`},
		"async":         {"functions that wait", `return (async () => { await null; own.n++; return own.n })()`},
		"generator":     {"a function that stopped in the middle", `return own.generator.next().value`},
		"bound":         {"what a bound function has", `return own.bound(1)`},
		"console":       {"the console", `console.left = (console.left ?? 0) + 1; return console.left`},
		"random":        {"random numbers begin anew", `return Math.random() < 1 && String(Math.random())`},
		"deep stack":    {"a stack that has grown", `const deep = (n) => n === 0 ? own.n++ : deep(n - 1); deep(500); return own.n`},
		"many objects":  {"and memory", `own.all = Array.from({length: 1000}, (_, i) => ({i})); return own.all.length + Object.keys(own).length`},
		"error's stack": {"errors that were made at load", `own.error.message += 'x'; return own.error.message`},
		"thrown":        {"what throws fails each time alike", `own.n++; throw new Error('call ' + own.n)`},
		"clone":         {"copies of what modules have", `const c = structuredClone(own.data); own.data.a.b = 2; return c.a.b`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			const own = `const own = { n: 0, list: [], requests: [], error: new Error('at load'), data: {a: {b: 1}},
				generator: (function* () { let i = 0; for (;;) yield i++ })(), bound: [].push.bind([]) }; let variable = 0; `
			for kind, text := range map[string]string{
				"ES module": `import s from "stateful"; ` + own + `export function sync(request) { ` + c.body + ` }`,
				"CommonJS":  `const s = require("stateful"); ` + own + `exports.sync = function (request) { ` + c.body + ` }`,
				"method":    `import s from "stateful"; ` + own + `export default { sync(request) { ` + c.body + ` } }`,
			} {
				for _, coverage := range []bool{false, true} {
					src := withState(text)
					src.Script.Coverage = coverage
					program := compiled(t, src)
					want := answerOf(t, program, callAt(1, "seed", map[string]any{"who": "x"}))
					for n := range 3 {
						if diff := cmp.Diff(want, answerOf(t, program, callAt(1, "seed", map[string]any{"who": "x"}))); diff != "" {
							t.Errorf("%s, call %d (-first +this):\n%s", kind, n+2, diff)
						}
					}
				}
			}
		})
	}
}

// TestNothingOfTheHost has scripts that find in what the host gives them, or behind it, what an earlier call has left there.
func TestNothingOfTheHost(t *testing.T) {
	cases := map[string]struct{ reason, text string }{
		"console":       {"the host alone has it", `console.log('x'); export const sync = () => { const was = typeof console.left; console.left = 1; return was }`},
		"view":          {"what a function of the host returned", `import { parseYAML } from "libretto"; const o = parseYAML("a: {b: [1]}"); export const sync = () => { o.a.b.push(2); o.c = 1; return JSON.stringify(o) }`},
		"exact integer": {"the integers that were rounded", `import { parseYAML } from "libretto"; parseYAML("a: 9007199254740993").a; export const sync = ({ n }) => n > 0 ? n : 9007199254740996`},
		"callback": {"a function of the host that modules kept, which has copies", `const { forEach, set } = Map.prototype; let kept = () => {}, copied = {}; const own = {};
			Map.prototype.forEach = (f) => { kept = f }; structuredClone(new Map([[own, own]])); Map.prototype.forEach = forEach;
			export const sync = () => { Map.prototype.set = (_, copy) => { copied = copy }; kept(own, own); const was = copied.n; copied.n = 1; return String(was) }`},
		"weak map": {"caches that have objects of modules as their keys", `const key = {}, w = new WeakMap([[key, 1]]), s = new WeakSet(); export const sync = () => { const was = [w.get(key), s.has(key)].join(); w.set(key, 2); s.add(key); return was }`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program := compiled(t, script(c.text)).(*program)
			if program.idle.Load() == nil {
				t.Fatal("no realm is kept")
			}
			want := answerOf(t, program, callAt(1, "", map[string]any{"n": int64(0)}))
			program.idle.Store(nil) // The realm of the next call is made for it, and kept.
			for range 2 {
				answerOf(t, program, callAt(1, "", map[string]any{"n": int64(9007199254740997)}))
				if diff := cmp.Diff(want, answerOf(t, program, callAt(1, "", map[string]any{"n": int64(0)}))); diff != "" {
					t.Errorf("(-first +later):\n%s", diff)
				}
			}
		})
	}
}

// TestSharedNames has runtimes that share the names of variables, because code that is made of text might ask for them. None may write them.
func TestSharedNames(t *testing.T) {
	program := compiled(t, script(`"use strict"; let all; { let a = 1; all = (x) => x ? eval("a") : typeof unknown + a }
		export function sync() { let last; for (let n = 0; n < 500; n++) last = all(); return last }`))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 100 {
				if got := answerOf(t, program, callAt(1, "", map[string]any{})); got != "undefined1" {
					t.Errorf("the answer is %v", got)
				}
			}
		})
	}
	group.Wait()
}

// TestRealmIsKept says which scripts have their modules run once. All others have them run for each call, and answer as they should.
func TestRealmIsKept(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		kept         bool
	}{
		"plain":         {"most", `export const sync = () => 1`, true},
		"package":       {"packages", `import s from "stateful"; export const sync = () => s.count()`, true},
		"CommonJS":      {"the other kind of module", `const s = require("stateful"); exports.sync = () => s.count()`, true},
		"time":          {"the time is of one call", `const at = Date.now(); export const sync = () => at`, false},
		"package's":     {"a package notes the time, and it is the same for all", `import c from "clock"; export const sync = () => Date.now() - c.at`, true},
		"through one":   {"the author asks a package for it", `import c from "clock"; const at = c.now(); export const sync = () => at`, false},
		"package at ES": {"in the bundle's own function", `import { at } from "es"; export const sync = () => at`, true},
		"random":        {"random numbers are of one parent", `const r = Math.random(); export const sync = () => r`, false},
		"bind":          {"a bound function", `const f = [].push.bind([]); export const sync = () => f(1)`, true},
		"promise":       {"nobody sees what the functions of a promise have", `let done; new Promise((r) => { done = r }); export const sync = () => typeof done`, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			program := compiled(t, files("sync.js", map[string]string{
				"sync.js": c.text, "node_modules/stateful/index.js": stateful,
				"node_modules/clock/index.js": `exports.now = () => Date.now(); exports.at = exports.now()`,
				"node_modules/es/index.mjs":   `export const at = new Date().getTime();`, "node_modules/es/package.json": `{"main": "index.mjs"}`,
			})).(*program)
			var last any
			for second := range int64(3) {
				seed := fmt.Sprint("parent ", second)
				fresh, err := program.newRealm(t.Context(), time.Unix(second, 0), seed)
				if err != nil {
					t.Fatal(err)
				}
				if kept := program.idle.Load() != nil; kept != c.kept {
					t.Errorf("whether a realm is kept is %t, want %t", kept, c.kept)
				}
				last = answerOf(t, program, callAt(second, seed, map[string]any{}))
				program.idle.Store(nil)
				fresh.state = nil
				if diff := cmp.Diff(answerOf(t, program, callAt(second, seed, map[string]any{})), last); diff != "" {
					t.Errorf("a realm for one call answers otherwise (-one +kept):\n%s", diff)
				}
			}
		})
	}
}

// TestRealmAfterFailures sees that what stopped a call in the middle has no effect on the next.
func TestRealmAfterFailures(t *testing.T) {
	program := compiled(t, withState(`import s from "stateful"; let n = 0;
		export function sync({ fail }) { n++; if (fail === 'loop') for (;;); if (fail === 'deep') (function f() { f() })(); if (fail) throw new Error(fail); return [n, s.count()].join() }`))
	want := answerOf(t, program, callAt(1, "", map[string]any{}))
	for _, fail := range []string{"thrown", "deep", "loop"} {
		ctx, cancel := engines.WithTimeout(t.Context(), 50*time.Millisecond)
		if _, err := program.Run(ctx, callAt(1, "", map[string]any{"fail": fail})); err == nil {
			t.Errorf("%s: the call has not failed", fail)
		}
		cancel()
		if diff := cmp.Diff(want, answerOf(t, program, callAt(1, "", map[string]any{}))); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", fail, diff)
		}
	}
}

// TestHookThatCannotBeShown has functions whose text is looked at when they are compiled, and that have a toString of their own.
func TestHookThatCannotBeShown(t *testing.T) {
	_, err := engine{}.Compile(t.Context(), script(`export function sync() {}; sync.toString = () => { throw new Error('no text') }`))
	if err == nil || !strings.Contains(err.Error(), "no text") {
		t.Errorf("the error is %v", err)
	}
	ctx, cancel := engines.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := (engine{}).Compile(ctx, script(`export function sync() {}; sync.toString = () => { for (;;); }`)); err == nil {
		t.Error("a text without an end is no error")
	}
}

// TestLogAtLoad sees that what modules log is in the log of each call, and what a call logs in its own alone.
func TestLogAtLoad(t *testing.T) {
	program := compiled(t, script(`console.log('loaded'); export function sync({ who }) { console.log('for', who); return null }`))
	var logs []string
	for _, who := range []string{"a", "b"} {
		response, err := program.Run(t.Context(), callAt(1, "", map[string]any{"who": who}))
		if err != nil {
			t.Fatal(err)
		}
		logs = append(logs, strings.Join(response.Logs, "; "))
	}
	if diff := cmp.Diff([]string{"loaded; for a", "loaded; for b"}, logs); diff != "" {
		t.Errorf("logs (-want +got):\n%s", diff)
	}
}

// TestConcurrentRealms sees that calls at the same time have one realm each.
func TestConcurrentRealms(t *testing.T) {
	program := compiled(t, withState(`import s from "stateful"; export function sync({ n }) { for (let i = 0; i < n; i++) s.count(); return s.count() }`))
	var group sync.WaitGroup
	for n := range 16 {
		group.Go(func() {
			request := map[string]any{"n": int64(n)}
			want := answerOf(t, program, callAt(1, "", request))
			for range 20 {
				if diff := cmp.Diff(want, answerOf(t, program, callAt(1, "", request))); diff != "" {
					t.Errorf("with %d (-first +this):\n%s", n, diff)
				}
			}
		})
	}
	group.Wait()
}
