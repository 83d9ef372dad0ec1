package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestConsole(t *testing.T) {
	cases := map[string]struct {
		reason, body string
		want         []string
	}{
		"levels":    {"what is written is the author's, whatever the level", `console.log('a'); console.info('b'); console.warn('c'); console.error('d'); console.debug('e')`, []string{"a", "b", "c", "d", "e"}},
		"values":    {"as JSON, one space between", `console.log('x', 1, null, undefined, true, {a: [1, 'b']}, () => 1, 7n)`, []string{`x 1 null undefined true {"a":[1,"b"]} [function] 7`}},
		"request":   {"views are shown too", `console.log(request)`, []string{`{"a":"<b>"}`}},
		"nothing":   {"an empty line is one", `console.log()`, []string{""}},
		"lines":     {"each line is one of the log", "console.log('a\\nb')", []string{"a", "b"}},
		"error":     {"with its stack, in the author's lines", "\nconsole.error(new Error('boom'))", []string{"sync.js:2:15: boom", "    at sync (sync.js:2:15)"}},
		"unshown":   {"what JSON can't hold is named", `const o = {}; o.o = o; console.log(o, new Map(), Symbol('s')); const e = new Error('e'); e.message = e; console.log(e)`, []string{"[object Object] [object Map] Symbol(s)", "Error"}},
		"too large": {"a value is bounded as the log is", `console.log(new Array(1e5).fill(1))`, []string{"[object Array]"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			response, failure := run(t, script("export function sync(request) {"+c.body+"; return null }"), map[string]any{"a": "<b>"}, time.Minute)
			if failure != nil {
				t.Fatal(failure.Detail())
			}
			if diff := cmp.Diff(c.want, response.Logs); diff != "" {
				t.Errorf("logs (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConsoleIsCut(t *testing.T) {
	response, failure := run(t, script(`export function sync() { for (let i = 0; i < 200; i++) console.log('ü'.repeat(500)); return null }`), map[string]any{}, time.Minute)
	if failure != nil {
		t.Fatal(failure)
	}
	lines := response.Logs
	if all := strings.Join(lines[:len(lines)-1], "\n"); len(all) > engines.MaxLogBytes || len(all) < engines.MaxLogBytes-1000 {
		t.Errorf("%d bytes were kept, want nearly %d", len(all), engines.MaxLogBytes)
	}
	if last := lines[len(lines)-1]; last != "(cut at 64 KiB)" {
		t.Errorf("the last line is %q", last)
	}
}

func TestStructuredClone(t *testing.T) {
	const deepest = `copies share nothing with what they are of`
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"request":   {deepest, `(() => { const c = structuredClone(request.o); c.a.push(2); return [c, request.o] })()`, []any{map[string]any{"a": []any{int64(1), int64(2)}}, map[string]any{"a": []any{int64(1)}}}},
		"changed":   {deepest, `(() => { request.o.b = 1; const c = structuredClone(request.o); c.b++; return [c.b, request.o.b, c.a] })()`, []any{int64(2), int64(1), []any{int64(1)}}},
		"object":    {deepest, `(() => { const o = {a: [{b: 1}]}; const c = structuredClone(o); c.a[0].b = 2; return [o, c] })()`, []any{map[string]any{"a": []any{map[string]any{"b": int64(1)}}}, map[string]any{"a": []any{map[string]any{"b": int64(2)}}}}},
		"cycle":     {"parts that are one object stay one", `(() => { const o = {}; o.o = o; const c = structuredClone(o); return c.o === c && c !== o })()`, true},
		"date":      {"classes that JSON loses are kept", `structuredClone(new Date(5)).getTime()`, int64(5)},
		"map":       {"classes that JSON loses are kept", `structuredClone(new Map([['a', {b: 1}]])).get('a')`, map[string]any{"b": int64(1)}},
		"set":       {"classes that JSON loses are kept", `[...structuredClone(new Set([1, 2]))]`, []any{int64(1), int64(2)}},
		"pattern":   {"classes that JSON loses are kept", `structuredClone(/a/i).test('A')`, true},
		"error":     {"classes that JSON loses are kept", `structuredClone(new TypeError('x')).message`, "x"},
		"undefined": {"values that JSON loses are kept", `'a' in structuredClone({a: undefined})`, true},
		"function":  {"as browsers have it", `(() => { try { structuredClone({f() {}}) } catch (e) { return e.message } })()`, "structuredClone: a function can't be cloned"},
		"sparse":    {"the length is kept", `structuredClone(new Array(3)).length`, int64(3)},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			request := map[string]any{"o": map[string]any{"a": []any{int64(1)}}}
			if diff := cmp.Diff(c.want, evaluate(t, c.expression, request)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestModernGlobals runs what globals.js adds to goja.
func TestModernGlobals(t *testing.T) {
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"object groups":  {"keys are texts", `Object.groupBy([1, 2, 3], (n, i) => n % 2 ? "odd" : i)`, map[string]any{"odd": []any{int64(1), int64(3)}, "1": []any{int64(2)}}},
		"any key":        {"no key is special", `Object.keys(Object.groupBy("ab", (c) => c === "a" ? "__proto__" : "toString"))`, []any{"__proto__", "toString"}},
		"map groups":     {"keys are values", `[...Map.groupBy(request.list, (n) => n > 1).entries()]`, []any{[]any{false, []any{int64(1)}}, []any{true, []any{int64(2), int64(3)}}}},
		"no function":    {"the message says what is needed", `fails(() => Object.groupBy([], 1))`, "TypeError: Object.groupBy: a function of an item is needed, and there is number"},
		"iterator":       {"what methods return is one", `[[].values(), new Map().keys(), new Set().entries(), "".matchAll(/a/g), (function* () {})()].every((x) => x instanceof Iterator)`, true},
		"chain":          {"only what is needed is computed", `numbers().filter((n) => n % 2).map((n, i) => [n, i]).drop(1).take(2).toArray()`, []any{[]any{int64(3), int64(1)}, []any{int64(5), int64(2)}}},
		"of a map":       {"this is what they are for", `new Map(Object.entries(request.object)).values().map((n) => n + 1).toArray()`, []any{int64(2), int64(3)}},
		"flatMap":        {"lists and iterators", `[1, 2].values().flatMap((n) => n === 1 ? [n, n] : [3].values()).toArray()`, []any{int64(1), int64(1), int64(3)}},
		"flatMap text":   {"a text is no list of characters", `fails(() => ["ab"].values().flatMap((s) => s).toArray())`, "TypeError: flatMap: the function must return a list or an iterator"},
		"reduce":         {"with and without a first value", `[[1, 2].values().reduce((a, b) => a + b), [1, 2].values().reduce((a, b, i) => a + b + i, "")]`, []any{int64(3), "1021"}},
		"reduce nothing": {"as for lists", `fails(() => [].values().reduce((a) => a))`, "TypeError: No initial value"},
		"tests":          {"they stop early", `[numbers().some((n) => n > 2), numbers().every((n) => n < 3), numbers().find((n, i) => i === 4), [].values().find(() => true) === undefined]`, []any{true, false, int64(5), true}},
		"forEach":        {"with the index", `(() => { const all = []; ["a", "b"].values().forEach((x, i) => all.push(x + i)); return all })()`, []any{"a0", "b1"}},
		"from":           {"whatever can be looped over, and what has next", `[Iterator.from("ab").toArray(), Iterator.from({ n: 0, next() { return { done: this.n > 1, value: this.n++ } } }).map((n) => n * 2).toArray()]`, []any{[]any{"a", "b"}, []any{int64(0), int64(2)}}},
		"extended":       {"a class may be one", `new (class extends Iterator { n = 0; next() { return { done: this.n > 1, value: this.n++ } } })().toArray()`, []any{int64(0), int64(1)}},
		"no instance":    {"it is abstract", `fails(() => new Iterator())`, "TypeError: Iterator is a class to extend: write Iterator.from(x)"},
		"no callback":    {"before anything is computed", `fails(() => [].values().map())`, "TypeError: map: a function is needed, and there is undefined"},
		"odd limit":      {"before anything is computed", `fails(() => [].values().take(-1))`, "RangeError: take: a number from 0 is needed, and there is -1"},
		"closed":         {"what a helper does not use up is closed", `(() => { const log = []; const source = () => ({ __proto__: Iterator.prototype, next: () => ({ value: 1, done: false }), return: () => { log.push("closed"); return {} } }); source().take(1).toArray(); source().take(0).toArray(); source().map((n) => n).return(); fails(() => source().forEach(() => { throw 1 })); return log.length })()`, int64(4)},
		"encode":         {"as UTF-8", `[...new TextEncoder().encode("aé€😀")]`, []any{int64(97), int64(195), int64(169), int64(226), int64(130), int64(172), int64(240), int64(159), int64(152), int64(128)}},
		"half a pair":    {"it has no UTF-8", `[...new TextEncoder().encode("\ud800")]`, []any{int64(239), int64(191), int64(189)}},
		"decode":         {"all of it, or a part", `(() => { const bytes = new TextEncoder().encode("é€😀"), d = new TextDecoder(); return [d.decode(bytes), d.decode(bytes.buffer), d.decode(bytes.subarray(2, 5)), d.decode()] })()`, []any{"é€😀", "é€😀", "€", ""}},
		"replaced":       {"bytes that are none are replaced", `new TextDecoder().decode(new Uint8Array([97, 255, 226, 130, 98]))`, "a\ufffd\ufffdb"},
		"fatal":          {"or refused", `fails(() => new TextDecoder("utf8", { fatal: true }).decode(new Uint8Array([255])))`, "TypeError: TextDecoder.decode: the bytes are no UTF-8"},
		"byte order":     {"the mark is none of the text", `[new TextDecoder().decode(new Uint8Array([239, 187, 191, 97])), new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array([239, 187, 191, 97])).length]`, []any{"a", int64(2)}},
		"other label":    {"there is one encoding", `fails(() => new TextDecoder("latin1"))`, "RangeError: TextDecoder: there is utf-8 alone, and not latin1"},
		"no bytes":       {"a text needs no decoding", `fails(() => new TextDecoder().decode("a"))`, "TypeError: TextDecoder.decode: bytes are needed: an ArrayBuffer, or a view of one such as a Uint8Array"},
		"base64":         {"goja has this", `[new TextEncoder().encode("hi").toBase64(), new TextDecoder().decode(Uint8Array.fromBase64("aGk="))]`, []any{"aGk=", "hi"}},
		"weak map":       {"with entries, and its name", `(() => { const k = {}, w = new WeakMap([[k, 1]]); return [w.get(k), w.has({}), w.set(k, 2) === w, w.get(k), w.delete(k), w.delete(k), String(w), WeakMap.name].join() })()`, "1,false,true,2,true,false,[object WeakMap],WeakMap"},
		"weak set":       {"with items", `(() => { const k = {}, w = new WeakSet([k]); return [w.has(k), w.add(k) === w, w.delete(k), w.has(k), String(w), WeakSet.name].join() })()`, "true,true,true,false,[object WeakSet],WeakSet"},
		"weak class":     {"it may be extended", `(() => { class C extends WeakMap { get(k) { return super.get(k) ?? 7 } } const c = new C(null); return [c.get({}), c instanceof WeakMap, Object.keys(c).length].join() })()`, "7,true,0"},
		"weak keys":      {"objects alone", `[fails(() => new WeakMap().set("a", 1)), fails(() => new WeakSet([null])), fails(() => WeakMap())]`, []any{"TypeError: Value is not an object: a", "TypeError: Value is not an object: null", "TypeError: Class constructor cannot be invoked without 'new'"}},
		"not listed":     {"they are not seen in loops, as the language's are not", `Object.keys(globalThis).concat(Object.keys(Iterator.prototype), Object.keys(Object)).filter((k) => k !== "structuredClone")`, []any{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			text := `const fails = (f) => { try { f() } catch (e) { return String(e) } };
				const numbers = () => (function* () { for (let n = 1; ; n++) yield n })();
				export const sync = (request) => ` + c.expression
			request := map[string]any{"list": []any{int64(1), int64(2), int64(3)}, "object": map[string]any{"a": int64(1), "b": int64(2)}}
			if diff := cmp.Diff(c.want, answer(t, script(text), request)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestHelpersLater runs scripts that don't mention the class of iterators.
func TestHelpersLater(t *testing.T) {
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"asked for": {"they come when they are needed", `[new Map([["a", 1]]).values().map((n) => n + 1).toArray(), [].values().find(() => 1) === undefined]`, []any{[]any{int64(2)}, true}},
		"not":       {"without a use it is as without helpers", `[...new Map([["a", 1]]).entries()].concat([String([].values())])`, []any{[]any{"a", int64(1)}, "[object Array Iterator]"}},
		"there":     {"a script may ask whether they are", `"map" in [].values() && !("nothing" in [].values()) && typeof [].keys().take`, "function"},
		"own":       {"an iterator may have a method of that name", `(() => { const g = (function* () { yield 1 })(); g.map = () => 7; return [g.map(), g.next().value, g.filter((n) => n).toArray().length] })()`, []any{int64(7), int64(1), int64(0)}},
		"in a loop": {"a name that is not theirs is no own one", `(() => { const g = [].values(); g.x = 1; const names = []; for (const name in g) names.push(name); return names })()`, []any{"x"}},
		"class":     {"it is what made them", `[].values().constructor.name`, "Iterator"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(c.want, evaluate(t, c.expression, map[string]any{})); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestModernGlobalsPlace shows that an error within them is at the author's call.
func TestModernGlobalsPlace(t *testing.T) {
	_, failure := run(t, script("export function sync() {\n  return [1].values().map(null) }"), map[string]any{}, time.Minute)
	if failure == nil || failure.Location.String() != "sync.js:2:23" {
		t.Errorf("error %v, want one at sync.js:2:23", failure)
	}
}

// TestGlobalsOf shows that a script is given no parts that it has no use for.
func TestGlobalsOf(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         []string
	}{
		"none":      {"the usual things", `import * as libretto from "libretto"; export const sync = (r) => Object.values(r).concat(Object.keys(r), Object.entries(r), libretto.hash(r))`, nil},
		"groups":    {"by its name", `const { groupBy } = Object; export const sync = () => groupBy`, []string{"groupBy"}},
		"texts":     {"by their names", `export const sync = () => globalThis["TextDecoder"]`, []string{"texts"}},
		"entries":   {"the list of a map's entries is an iterator", `export const sync = () => new Map().entries()`, []string{"iterators later"}},
		"generator": {"it returns an iterator", `export const sync = () => (function* () {})()`, []string{"iterators later"}},
		"method":    {"it may be a generator", `export default { *values2() {}, sync() {} }`, []string{"iterators later"}},
		"class":     {"it is a global", `export const sync = () => Iterator.from([].values())`, []string{"iterators"}},
		"async":     {"nor does a comment count", "// Map.groupBy\nexport const sync = async () => 1 * 2", nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			built, err := bundle(script(c.text).Script, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, globalsOf(built.code)); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTimeAndRandom(t *testing.T) {
	cases := map[string]struct {
		reason, expression string
		want               any
		dependent          bool
	}{
		"now":         {"the clock is the call's", `Date.now() === Date.now() && Date.now()`, now.UnixMilli(), true},
		"new date":    {"the clock is the call's", `new Date().toISOString()`, "2026-10-03T12:00:00.000Z", true},
		"date string": {"the clock is the call's", `typeof Date()`, "string", true},
		"given date":  {"a date that is given is no reading of the clock", `new Date(0).getTime()`, int64(0), false},
		"parsed date": {"a date that is given is no reading of the clock", `Date.parse('2026-10-03T12:00:00Z')`, now.UnixMilli(), false},
		"random":      {"random numbers are the same for the same seed", `Math.random() !== Math.random()`, true, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			response, failure := run(t, script("export const sync = () => "+c.expression), map[string]any{}, time.Minute)
			want := engines.Response{Body: c.want, TimeDependent: c.dependent, Read: engines.ReadSet{}}
			if diff := cmp.Diff(want, response); diff != "" || failure != nil {
				t.Errorf("error %v, response (-want +got):\n%s", failure, diff)
			}
		})
	}
}

func TestSeed(t *testing.T) {
	program, err := engine{}.Compile(t.Context(), script("export const sync = () => Math.random()"))
	if err != nil {
		t.Fatal(err)
	}
	random := func(seed string) any {
		response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{}, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		return response.Body
	}
	if a, again, b := random("a"), random("a"), random("b"); a != again || a == b {
		t.Errorf("seed a gave %v and %v, seed b %v", a, again, b)
	}
}

func TestNoHost(t *testing.T) {
	want := "undefined,undefined,undefined,undefined,undefined"
	got := evaluate(t, `[typeof require, typeof process, typeof setTimeout, typeof fetch, typeof Buffer].join()`, map[string]any{})
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("what there is of a host (-want +got):\n%s", diff)
	}
}

// TestBind has what a bound function must do. It is of the host's own, so that what it has bound is restored for each call.
func TestBind(t *testing.T) {
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"this":        {"it has its own this", `(function () { return this.a }).bind({a: 1})()`, int64(1)},
		"not another": {"whoever calls it", `(function () { return this.a }).bind({a: 1}).call({a: 2})`, int64(1)},
		"arguments":   {"and the first arguments", `((...all) => all.join()).bind(null, 1, 2)(3)`, "1,2,3"},
		"built-in":    {"functions of the language too", `/b/.test.bind(/a/)('a') && [1, 2].map((n) => Math.max.bind(Math, 2)(n)).join()`, "2,2"},
		"twice":       {"the first this counts", `(function () { return this.a }).bind({a: 1}).bind({a: 2})()`, int64(1)},
		"new":         {"a class can be bound", `(() => { class C { constructor(...all) { this.all = all.join() } }; const B = C.bind(null, 1), b = new B(2); return [b.all, b instanceof C, b instanceof B].join() })()`, "1,2,true,true"},
		"new.target":  {"as if it was called itself", `(() => { function F() { return { is: new.target === F } }; return new (F.bind(null))().is })()`, true},
		"extended":    {"and be extended", `(() => { class C { m() { return 1 } }; function F() {}; return typeof F.bind(null).prototype })()`, "undefined"},
		"name":        {"it says what it is", `(function add(a, b, c) {}).bind(null, 1).name + (function add(a, b, c) {}).bind(null, 1).length`, "bound add2"},
		"no function": {"and nothing else can be bound", `(() => { try { Function.prototype.bind.call({}) } catch (e) { return e.message } })()`, "Function.prototype.bind: this is no function"},
		"a view":      {"of what the host gives", `console.log.bind(console, 'a')('b') === undefined`, true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			response, failure := run(t, script("export function sync() { return "+c.expression+" }"), map[string]any{}, time.Minute)
			if failure != nil {
				t.Fatal(failure.Detail())
			}
			if diff := cmp.Diff(c.want, response.Body); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
