package heap

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
)

func runtimeOf(t *testing.T, script string) *goja.Runtime {
	t.Helper()
	rt := goja.New()
	rt.SetTimeSource(func() time.Time { return time.Unix(0, 0) })
	rt.SetRandSource(func() float64 { return 0.5 })
	if _, err := rt.RunString(script); err != nil {
		t.Fatal(err)
	}
	return rt
}

func run(t *testing.T, rt *goja.Runtime, script string) string {
	t.Helper()
	value, err := rt.RunString(script)
	if err != nil {
		return err.Error()
	}
	return value.String()
}

// TestRestore changes all that a script can change, and looks whether it sees that after a restore.
func TestRestore(t *testing.T) {
	cases := map[string]struct{ reason, loaded, change, look string }{
		"variable":         {"a variable of a module", `let n = 1`, `n = 2`, `n`},
		"constant's field": {"what it has", `const o = {a: 1, b: {c: 1}}`, `o.b.c = 2; o.d = 3; delete o.a`, `JSON.stringify(o)`},
		"order":            {"the order of fields", `const o = {a: 1, b: 2}`, `delete o.a; o.a = 1`, `Object.keys(o).join()`},
		"number names":     {"fields that are numbers have an order of their own", `const o = {2: 1, a: 1}`, `o[1] = 1; o[10] = 1`, `Object.keys(o).join()`},
		"closure":          {"a variable that a function has alone", `const count = (() => { let n = 0; return () => ++n })()`, `count(); count()`, `count()`},
		"arguments":        {"those of a function that is over", `const get = (function (a) { const all = arguments; return () => all[0]++ + a })(1)`, `get()`, `get()`},
		"sloppy arguments": {"a parameter by another name", `const f = (function (a) { const all = arguments; return [() => { all[0] = 7 }, () => a] })(1)`, `f[0]()`, `f[1]()`},
		"array":            {"elements, and how many", `const a = [1, 2, 3]`, `a.push(4); a[0] = 9; a.reverse()`, `a.join()`},
		"sparse array":     {"one of few elements", `const a = []; a[1e6] = 1`, `a[5e5] = 2; a.x = 1`, `Object.keys(a).join()`},
		"shrunk array":     {"less than there was", `const a = [1, 2, 3]`, `a.length = 0; a.push(7)`, `a.join()`},
		"grown array":      {"what an array has room for is seen when it grows in its place", `const a = []; a.push(1, 2, 3, 4, 5)`, `a[5] = 6`, `a[6] = 7; a.join()`},
		"map":              {"entries, their order and values", `const m = new Map([['a', 1], ['b', 2]])`, `m.delete('a'); m.set('a', 3).set('c', 4)`, `JSON.stringify([...m])`},
		"cleared map":      {"all entries", `const m = new Map([['a', 1], [{}, 2]])`, `m.clear()`, `m.size`},
		"set":              {"members", `const s = new Set([1, 2])`, `s.add(3); s.delete(1)`, `[...s].join()`},
		"prototype":        {"methods of a class", `class C { m() { return 1 } }; const c = new C()`, `C.prototype.m = () => 2`, `c.m()`},
		"its prototype":    {"what an object inherits from", `const o = {}`, `Object.setPrototypeOf(o, {a: 1})`, `String(o.a)`},
		"static":           {"fields of a class", `class C { static n = 1; static up() { return C.n++ } }`, `C.up(); C.up()`, `C.up()`},
		"private":          {"private fields", `class C { #n = 1; static #all = 0; up() { C.#all++; return this.#n++ + 10 * C.#all } }; const c = new C()`, `c.up(); c.up()`, `c.up()`},
		"accessor":         {"a field that becomes a function", `const o = {a: 1}`, `Object.defineProperty(o, 'a', {get: () => 2})`, `o.a`},
		"attributes":       {"whether a field can be changed", `const o = {a: 1}`, `Object.defineProperty(o, 'a', {writable: false, enumerable: false})`, `JSON.stringify(Object.getOwnPropertyDescriptor(o, 'a'))`},
		"frozen":           {"whether an object can be changed", `const o = {a: 1}`, `Object.freeze(o)`, `[Object.isFrozen(o), Object.isExtensible(o)].join()`},
		"function's field": {"functions are objects", `function f() {}`, `f.cache = 1; f.prototype.x = 1; Object.defineProperty(f, 'name', {value: 'g'})`, `[f.cache, f.name, new f().x].join()`},
		"symbol":           {"fields that are named by symbols", `const s = Symbol('s'), o = {[s]: 1}`, `o[s] = 2; o[Symbol.iterator] = 1`, `[o[s], Object.getOwnPropertySymbols(o).length].join()`},
		"built-in":         {"what belongs to the language", ``, `Array.prototype.map = () => 1; Math.max = () => 2; JSON.stringify = () => 3`, `[[1].map(x => x + 4), Math.max(5, 6), JSON.stringify(7)].join()`},
		"built-in, used":   {"also if it was used before", `[1].map(x => x); Math.max(1)`, `Array.prototype.map = () => 1; Math.max = () => 2; delete Object.prototype.toString`, `[[1].map(x => x + 4), Math.max(5, 6), {}].join()`},
		"prototypes":       {"what all objects inherit", ``, `Object.prototype.evil = 1; Array.prototype[0] = 1; Function.prototype.call = 1`, `[({}).evil, [][0], typeof Function.prototype.call].join()`},
		"iterators":        {"and what all iterators inherit", ``, `Object.getPrototypeOf([].values()).next = () => ({done: true})`, `[...[1, 2]].join()`},
		"generators":       {"and generators", `function* g() { yield 1 }`, `Object.getPrototypeOf(g).prototype.next = () => ({done: true})`, `[...g()].join()`},
		"global":           {"names for all", `var v = 1`, `v = 2; globalThis.w = 3; delete globalThis.Map`, `[v, typeof w, typeof Map].join()`},
		"iterator":         {"how far one has got", `const i = [1, 2, 3].values(); i.next()`, `i.next(); i.next()`, `i.next().value`},
		"text iterator":    {"in a text too, also beyond Latin", `const i = 'abc'[Symbol.iterator](), l = 'aüb'[Symbol.iterator](); i.next(); l.next()`, `i.next(); l.next()`, `i.next().value + l.next().value`},
		"map iterator":     {"in a map too", `const m = new Map([[1, 1], [2, 2], [3, 3]]), i = m.keys(); i.next()`, `i.next(); m.delete(2)`, `[...i].join()`},
		"generator":        {"a function that waits", `const g = (function* () { let n = 0; while (true) { yield ++n } })(); g.next()`, `g.next(); g.next()`, `g.next().value`},
		"pattern":          {"where a regular expression goes on", `const r = /a/g; r.exec('aaa')`, `r.exec('aaa'); r.x = 1`, `[r.lastIndex, r.x].join()`},
		"date":             {"a time", `const d = new Date(0)`, `d.setFullYear(2001)`, `d.getUTCFullYear()`},
		"bytes":            {"an array of bytes", `const b = new Uint8Array([1, 2, 3])`, `b[0] = 9; b.set([7], 2); b.x = 1`, `[...b, b.x].join()`},
		"buffer":           {"what several arrays are views of", `const b = new ArrayBuffer(4), v = new DataView(b)`, `v.setInt32(0, 7)`, `v.getInt32(0)`},
		"proxy":            {"what stands before an object", `const o = {}, p = new Proxy(o, {get: () => o.n})`, `o.n = 1`, `String(p.x)`},
		"boxed":            {"texts as objects", `const s = new String('a')`, `s.x = 1`, `String(s.x)`},
		"error":            {"errors", `const e = new Error('a')`, `e.message = 'b'; e.stack; e.cause = 1`, `[e.message, e.cause].join()`},
		"large integer":    {"integers without a limit", `let b = 10n ** 30n`, `b += 1n`, `b.toString()`},
		"text":             {"texts beyond Latin", `let s = 'grüße'; const o = {'ü': s}`, `s += 'ß'; o['ü'] = 1; o['ä'] = 2`, `JSON.stringify([s, o])`},
		"rare value":       {"a text beyond Latin as a value", `const o = {a: 'ü'}, m = new Map([['k', 'ü']])`, `o.a = 'ä'; m.set('k', 'ä')`, `o.a + m.get('k')`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			want := run(t, runtimeOf(t, c.loaded), c.look)
			if changed := run(t, runtimeOf(t, c.loaded), c.change+";"+c.look); changed == want {
				t.Fatalf("the change has no effect: %s", changed)
			}
			rt := runtimeOf(t, c.loaded)
			state, err := Take(rt, nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				run(t, rt, c.change)
				state.Restore()
				if got := run(t, rt, c.look); got != want {
					t.Fatalf("after a restore there is %s, want %s", got, want)
				}
				state.Restore()
			}
		})
	}
}

// TestHeld has a value that its runtime has forgotten.
func TestHeld(t *testing.T) {
	rt := goja.New()
	rt.SetTimeSource(func() time.Time { return time.Unix(0, 0) })
	rt.SetRandSource(func() float64 { return 0.5 })
	o := rt.NewObject()
	state, err := Take(rt, []goja.Value{o})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Set("a", 1); err != nil {
		t.Fatal(err)
	}
	state.Restore()
	if keys := o.Keys(); len(keys) > 0 {
		t.Errorf("it has still %v", keys)
	}
}

// TestRefuses has states of which a part can't be seen.
func TestRefuses(t *testing.T) {
	cases := map[string]struct{ reason, script, want string }{
		"bind":       {"the arguments are Go's, unless bind is the host's own", `const all = [], add = all.push.bind(all)`, "boundCallable"},
		"promise":    {"whether it is settled is Go's", `let settle; new Promise((resolve) => { settle = resolve })`, "createResolvingFunctions"},
		"revocation": {"the proxy is Go's", `const { revoke } = Proxy.revocable({}, {})`, "revocable"},
		"weak map":   {"each call would leave something at a key that stays, and the garbage collector changes the map", `const w = new WeakMap()`, "WeakMap"},
		"weak set":   {"which is such a map", `const w = new WeakSet()`, "WeakMap"},
		"size":       {"to compare it would take too long", `const bytes = new Uint8Array(17 << 20)`, "more than 16 MiB"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if _, err := Take(runtimeOf(t, c.script), nil); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the error is %v, want %s", err, c.want)
			}
		})
	}
}

// TestRefusesOtherTypes has a value of a type that nobody has looked at, which calls may change.
func TestRefusesOtherTypes(t *testing.T) {
	w := walker{seen: map[reached]bool{}}
	w.follow(reflect.ValueOf(strings.NewReader("x")))
	if w.err == nil || !strings.Contains(w.err.Error(), "strings.Reader") {
		t.Errorf("the error is %v", w.err)
	}
}

// TestNothingIsShared sees that nothing of two runtimes is the same memory: a restore writes to one of them while the other runs.
func TestNothingIsShared(t *testing.T) {
	const script = `const seen = new Set();
		const walk = (o) => {
			if (Object(o) === o && !seen.has(o)) {
				seen.add(o);
				Reflect.ownKeys(o).map((key) => Object.getOwnPropertyDescriptor(o, key)).forEach((d) => [d.value, d.get, d.set].forEach(walk));
				walk(Object.getPrototypeOf(o));
			}
		};
		[globalThis, (function* () {})(), async () => {}, [].values(), new Map().values(), ''.matchAll(/a/g), /ä/u, new Date(), 1n].forEach(walk)`
	program := goja.MustCompile("all", script, false)
	take := func() *Snapshot {
		rt := runtimeOf(t, "")
		if _, err := rt.RunProgram(program); err != nil {
			t.Fatal(err)
		}
		state, err := Take(rt, nil)
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	one, other := take(), take()
	all := slices.Concat(one.areas, other.areas)
	w := walker{Snapshot: Snapshot{areas: all}}
	w.arrange()
	if len(all) < 1000 {
		t.Errorf("there are only %d areas", len(all))
	}
	for n := 1; n < len(w.areas); n++ {
		if w.areas[n-1].end() > uintptr(w.areas[n].at) {
			t.Errorf("%v is in %v", w.areas[n].saved.Type(), w.areas[n-1].saved.Type())
		}
	}
	if len(w.areas) != len(all) {
		t.Errorf("%d of %d areas are not shared", len(w.areas), len(all))
	}
}
