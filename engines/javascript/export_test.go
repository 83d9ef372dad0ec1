package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestExport(t *testing.T) {
	cases := map[string]struct {
		reason, expression string
		want               any
	}{
		"undefined property": {"as JSON.stringify has it", `{a: undefined, b: 1}`, map[string]any{"b": int64(1)}},
		"undefined of view":  {"a field of the request is left out in the same way", `(request.b = undefined, request)`, map[string]any{}},
		"symbol as a name":   {"as JSON.stringify has it", `{[Symbol('x')]: 1, n: null}`, map[string]any{"n": nil}},
		"date":               {"as JSON.stringify has it", `{at: new Date(0)}`, map[string]any{"at": "1970-01-01T00:00:00.000Z"}},
		"toJSON":             {"as JSON.stringify has it", `{a: {toJSON(key) { return key + '!' }}}`, map[string]any{"a": "a!"}},
		"boxed":              {"as JSON.stringify has it", `[new String('s'), new Number(2), new Boolean(false)]`, []any{"s", int64(2), false}},
		"getter":             {"as JSON.stringify has it", `{get a() { return 1 }}`, map[string]any{"a": int64(1)}},
		"class instance":     {"as JSON.stringify has it", `new (class A { x = 1; #y = 2; m() {} })()`, map[string]any{"x": int64(1)}},
		"class with methods": {"methods are of the class, and not of the object", `new (class A { x = 1; f() {} get g() { return 2 } })()`, map[string]any{"x": int64(1)}},
		"no prototype":       {"an object without fields may have none", `[{}, Object.create(null), structuredClone({})]`, []any{map[string]any{}, map[string]any{}, map[string]any{}}},
		"hidden property":    {"as JSON.stringify has it", `Object.defineProperty({a: 1}, 'b', {value: 2})`, map[string]any{"a": int64(1)}},
		"proxy":              {"as JSON.stringify has it", `new Proxy({a: 1}, {get: (o, k) => o[k] === undefined ? undefined : 2})`, map[string]any{"a": int64(2)}},
		"array proxy":        {"as JSON.stringify has it", `new Proxy([1, 2], {})`, []any{int64(1), int64(2)}},
		"null":               {"null is an answer", `null`, nil},
		"big":                {"a BigInt has all its digits", `[9007199254740993n, -1n, 2n ** 63n - 1n]`, []any{int64(1<<53 + 1), int64(-1), int64(1<<63 - 1)}},
		"numbers":            {"whole numbers are int64 as far as it goes", `[1, 1.0, -0, 2 ** 53, 1e18, 1e19, 0.1, 10 / 4]`, []any{int64(1), int64(1), int64(0), int64(1 << 53), int64(1e18), 1e19, 0.1, 2.5}},
		"same object twice":  {"a part in two places is no cycle", `(() => { const o = {a: 1}; return [o, o] })()`, []any{map[string]any{"a": int64(1)}, map[string]any{"a": int64(1)}}},
		"lone surrogate":     {"Go's strings are UTF-8", `'a\ud800b'`, "a\ufffdb"},
		"promise":            {"async works as long as it settles by itself", `(async () => (await Promise.all([1, 2])).length)()`, int64(2)},
		"async generator":    {"esbuild rewrites what goja lacks", `(async () => { let n = 0; for await (const x of (async function* () { yield 1; yield 2 })()) n += x; return n })()`, int64(3)},
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

func TestExportRefuses(t *testing.T) {
	const deep = `(() => { let o = {}; for (let i = 0; i < 600; i++) o = {o}; return o })()`
	cases := map[string]struct {
		reason, expression string
		kind               engines.Kind
		message            string
	}{
		"nothing":           {"a missing return is a common mistake", `undefined`, engines.BadResponse, "the function gave back undefined"},
		"no call":           {"so is a missing call", `() => ({})`, engines.BadResponse, "the value is a function: call it, or leave it out"},
		"not a number":      {"JSON has no NaN, and null would hide the mistake", `{status: {n: 0 / 0}}`, engines.BadResponse, "status.n: is NaN"},
		"infinite":          {"JSON has no Infinity", `{children: [{}, {n: 1 / 0}]}`, engines.BadResponse, "children[1].n: is +Inf"},
		"big":               {"no integer of an object is that large", `{a: {'b/c': 2n ** 63n}}`, engines.BadResponse, `a["b/c"]: is a BigInt of more than 64 bits`},
		"map":               {"JSON.stringify makes it {}, which is never meant", `{labels: new Map()}`, engines.BadResponse, "labels: is a Map: use Object.fromEntries"},
		"set":               {"JSON.stringify makes it {}, which is never meant", `{l: new Set([1])}`, engines.BadResponse, "l: is a Set: use [...set]"},
		"function":          {"a missing call is a common mistake", `{children: [{data: {x() { return 1 }}}]}`, engines.BadResponse, "children[0].data.x: is a function: call it, or leave it out"},
		"arrow":             {"however it is written", `[() => 1]`, engines.BadResponse, "[0]: is a function: call it, or leave it out"},
		"class":             {"a class is a function", `{a: class A {}}`, engines.BadResponse, "a: is a function: call it, or leave it out"},
		"function in view":  {"in what the hook was given, too", `(request.o.f = () => 1, request)`, engines.BadResponse, "o.f: is a function: call it, or leave it out"},
		"from toJSON":       {"what stands for an object is no better", `{a: {toJSON() { return () => 1 }}}`, engines.BadResponse, "a: is a function: call it, or leave it out"},
		"symbol":            {"it has no text of its own", `{a: {b: Symbol('x')}}`, engines.BadResponse, "a.b: is a symbol: write its description, or leave it out"},
		"undefined in list": {"JSON.stringify makes it null, which is rarely meant", `{args: ['a', undefined]}`, engines.BadResponse, "args[1]: is undefined: filter it out of the list, or write null"},
		"hole":              {"nor is a hole", `{args: ['a', , 'b']}`, engines.BadResponse, "args[1]: is undefined"},
		"hole in view":      {"in a list of the request, too", `(request.l[2] = 1, request)`, engines.BadResponse, "l[1]: is undefined"},
		"invalid date":      {"JSON.stringify makes it null", `{at: new Date('x')}`, engines.BadResponse, "at: is an invalid Date: look at what it was made of"},
		"error":             {"JSON.stringify makes it {}", `{status: {e: new TypeError('x')}}`, engines.BadResponse, "status.e: is an Error: use its message"},
		"regular":           {"JSON.stringify makes it {}", `{a: /x/}`, engines.BadResponse, "a: is a RegExp: use its source"},
		"bytes":             {"JSON.stringify makes it an object of numbers", `{data: new Uint8Array(2)}`, engines.BadResponse, "data: is a typed array: use [...array], or array.toBase64()"},
		"iterator":          {"JSON.stringify makes it {}", `{args: new Map([[1, 2]]).values()}`, engines.BadResponse, "args: is an iterator: use [...iterator]"},
		"generator":         {"JSON.stringify makes it {}", `{args: (function* () { yield 1 })()}`, engines.BadResponse, "args: is an iterator: use [...iterator]"},
		"inherited":         {"JSON.stringify leaves out what is inherited", `{a: Object.create({b: 1})}`, engines.BadResponse, "a: is of a class, and has no fields of its own: give it fields, or a method toJSON"},
		"private":           {"JSON.stringify makes it {}", `{a: new (class A { #x = 1 })()}`, engines.BadResponse, "a: is of a class, and has no fields of its own"},
		"weak":              {"JSON.stringify makes it {}", `{a: new WeakMap()}`, engines.BadResponse, "a: is of a class, and has no fields of its own"},
		"inner promise":     {"a missing await is a common mistake", `{children: [(async () => 1)()]}`, engines.BadResponse, "children[0]: is a Promise: use await"},
		"cycle":             {"it would never end", `(() => { const o = {a: {}}; o.a.o = o; return o })()`, engines.BadResponse, "a.o: holds itself"},
		"cycle of request":  {"views can be made to hold themselves", `(request.o.up = request, request)`, engines.BadResponse, "o.up: holds itself"},
		"deep":              {"the converter recurses", deep, engines.BadResponse, "is nested more than 500 deep"},
		"large":             {"memory is bounded", `'x'.repeat(9 << 20)`, engines.Exhausted, "larger than 8 MiB"},
		"long":              {"an array can be long without taking memory", `new Proxy([], {get: (o, key) => key === 'length' ? 4294967295 : null})`, engines.Exhausted, "larger than 8 MiB"},
		"many times":        {"an object can be in an answer many times", `(() => { let o = request; for (let i = 0; i < 100; i++) o = [o, o]; return o })()`, engines.Exhausted, "larger than 8 MiB"},
		"getter throws":     {"the message is the script's own", `{get a() { throw new Error('boom') }}`, engines.Failed, "boom"},
		"toJSON throws":     {"the message is the script's own", `{toJSON() { throw new Error('boom') }}`, engines.Failed, "boom"},
		"getter loops":      {"the deadline holds for what the conversion calls", `{get a() { for (;;); }}`, engines.Timeout, "deadline"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := script("export function sync(request) { return " + c.expression + " }")
			patience := time.Minute
			if c.kind == engines.Timeout {
				patience = 50 * time.Millisecond
			}
			_, failure := run(t, src, map[string]any{"o": map[string]any{}, "l": []any{int64(1)}}, patience)
			if failure == nil || failure.Kind != c.kind || !strings.Contains(failure.Message, c.message) {
				t.Errorf("error %v, want one of kind %s that says %q", failure, c.kind.Reason(), c.message)
			}
		})
	}
}
