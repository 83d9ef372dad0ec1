package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestViews(t *testing.T) {
	const same = "the request behaves like any other object"
	cases := map[string]struct {
		reason, body string
		want         any
	}{
		"identity":             {same, `return request.o === request.o && request.l[2] === request.l[2]`, true},
		"sorted keys":          {"Go's order of keys must not show", `return Object.keys(request.o).join()`, "a,b,c"},
		"for in":               {same, `const k = []; for (const x in request.o) k.push(x); return k.join()`, "a,b,c"},
		"entries":              {same, `return JSON.stringify(Object.entries(request.o))`, `[["a",1],["b","two"],["c",null]]`},
		"stringify":            {same, `return JSON.stringify(request)`, `{"l":[3,1,{"x":2}],"o":{"a":1,"b":"two","c":null}}`},
		"spread":               {same, `return {...request.o, b: 2}`, map[string]any{"a": int64(1), "b": int64(2), "c": nil}},
		"destructuring":        {same, `const {o: {a}, l: [first, ...rest]} = request; return [a, first, rest.length]`, []any{int64(1), int64(3), int64(2)}},
		"in":                   {same, `return ['a' in request.o, 'z' in request.o, 'toString' in request.o]`, []any{true, false, true}},
		"missing":              {same, `return request.o.z === undefined && request.l[9] === undefined && request.o?.z?.y === undefined`, true},
		"has own":              {same, `return [Object.hasOwn(request.o, 'a'), request.o.hasOwnProperty('toString')]`, []any{true, false}},
		"write":                {same, `request.o.a = 2; request.o.z = 3; return request.o`, map[string]any{"a": int64(2), "b": "two", "c": nil, "z": int64(3)}},
		"added keys come last": {same, `request.o.aa = 1; delete request.o.a; return Object.keys(request.o).join()`, "b,c,aa"},
		"delete":               {same, `delete request.o.b; delete request.o.none; return [request.o, 'b' in request.o, request.o.b === undefined]`, []any{map[string]any{"a": int64(1), "c": nil}, false, true}},
		"delete and write":     {same, `delete request.o.b; request.o.b = 9; return Object.keys(request.o).join()`, "a,b,c"},
		"deep write":           {same, `request.l[2].x = 5; return request`, map[string]any{"l": []any{int64(3), int64(1), map[string]any{"x": int64(5)}}, "o": map[string]any{"a": int64(1), "b": "two", "c": nil}}},
		"assign":               {same, `return Object.assign(request.o, {a: 7}).a`, int64(7)},
		"moved part":           {"an object that is in two places is the same one", `request.copy = request.o; request.copy.a = 4; return [request.o.a, request.copy.a]`, []any{int64(4), int64(4)}},
		"write to a part":      {"a part changes in the whole", `const o = request.o; o.a = 8; return request.o.a`, int64(8)},
		"is array":             {same, `return [Array.isArray(request.l), Array.isArray(request.o), request.l instanceof Array]`, []any{true, false, true}},
		"length":               {same, `return request.l.length`, int64(3)},
		"map and filter":       {same, `return request.l.filter((x) => typeof x === 'number').map((x) => x * 2)`, []any{int64(6), int64(2)}},
		"push and pop":         {same, `request.l.push(4); request.l.push(5); return [request.l.pop(), request.l.length, request.l]`, []any{int64(5), int64(4), []any{int64(3), int64(1), map[string]any{"x": int64(2)}, int64(4)}}},
		"splice":               {same, `const cut = request.l.splice(0, 1, 'a', 'b'); return [cut, request.l.slice(0, 3)]`, []any{[]any{int64(3)}, []any{"a", "b", int64(1)}}},
		"sort":                 {same, `request.l.pop(); request.l.sort(); return request.l`, []any{int64(1), int64(3)}},
		"shift and unshift":    {same, `request.l.shift(); request.l.unshift(0); return request.l[0]`, int64(0)},
		"reverse":              {same, `return request.l.reverse()[2]`, int64(3)},
		"concat":               {same, `return request.l.concat(request.l).length`, int64(6)},
		"array spread":         {same, `return [...request.l, 1].length`, int64(4)},
		"for of":               {same, `let n = 0; for (const x of request.l) n++; return n`, int64(3)},
		"find and includes":    {same, `return [request.l.includes(1), request.l.find((x) => x.x).x, request.l.indexOf(1), request.l.at(-1).x]`, []any{true, int64(2), int64(1), int64(2)}},
		"length is set":        {same, `request.l.length = 1; return request.l`, []any{int64(3)}},
		"write past the end":   {"what is between is undefined", `request.l[4] = 1; return request.l.slice(3).map(String)`, []any{"undefined", "1"}},
		"far past the end":     {"an array without holes must not fill memory", `try { request.l[4e9] = 1 } catch (e) { return e.name }`, "TypeError"},
		"deep clone by JSON":   {same, `const c = JSON.parse(JSON.stringify(request.o)); c.a = 5; return [c.a, request.o.a]`, []any{int64(5), int64(1)}},
		"top level":            {same, `request.z = 1; delete request.l; return Object.keys(request).join()`, "o,z"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			request := map[string]any{
				"o": map[string]any{"a": int64(1), "b": "two", "c": nil},
				"l": []any{int64(3), int64(1), map[string]any{"x": int64(2)}},
			}
			before := runtime.DeepCopyJSON(request)
			got := answer(t, script("export function sync(request) { "+c.body+" }"), request)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, request); diff != "" {
				t.Errorf("the request itself was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestUntouchedPartsKeepTheirNumbers(t *testing.T) {
	request := map[string]any{"spec": map[string]any{"exact": int64(1<<53 + 1), "float": float64(2)}, "other": []any{int64(1<<62 + 1)}}
	want := map[string]any{"spec": request["spec"], "other": request["other"], "added": int64(1)}
	if diff := cmp.Diff(any(want), evaluate(t, `(request.added = 1, request)`, request)); diff != "" {
		t.Errorf("what was not touched came back changed (-want +got):\n%s", diff)
	}
}

// TestIntegersThatArePassedOn checks that an integer that JavaScript rounds has its digits again in the answer, whatever is made around it.
func TestIntegersThatArePassedOn(t *testing.T) {
	large := int64(1<<53 + 1)
	request := map[string]any{"spec": map[string]any{"n": large, "in": map[string]any{"n": int64(1<<62 + 1)}}, "list": []any{large}}
	want := map[string]any{"n": large, "in": map[string]any{"n": int64(1<<62 + 1)}, "more": int64(1)}
	for name, script := range map[string]string{
		"spread":  `({...request.spec, more: 1})`,
		"deep":    `({...request.spec, in: {...request.spec.in}, more: 1})`,
		"assign":  `Object.assign({more: 1}, request.spec)`,
		"json":    `({...JSON.parse(JSON.stringify(request.spec)), more: 1})`,
		"clone":   `({...structuredClone(request.spec), more: 1})`,
		"entries": `Object.fromEntries([...Object.entries(request.spec), ["more", 1]])`,
		"changed": `(request.spec.more = 1, request.spec)`,
		"set":     `((request.spec.n = request.list[0]), (request.spec.more = 1), request.spec)`,
	} {
		if diff := cmp.Diff(any(want), evaluate(t, script, request)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(any(map[string]any{"list": []any{large, int64(0)}}), evaluate(t, `({list: [...request.list, 0]})`, request)); diff != "" {
		t.Errorf("a list (-want +got):\n%s", diff)
	}
}

// TestIntegersThatAreAmbiguous checks that one of two integers that are rounded to the same is refused, unless the object is passed on.
func TestIntegersThatAreAmbiguous(t *testing.T) {
	request := map[string]any{"a": map[string]any{"n": int64(1<<53 + 1)}, "b": map[string]any{"n": int64(1 << 53)}}
	if diff := cmp.Diff(any([]any{request["a"], request["b"]}), evaluate(t, `(request.a.n + request.b.n, [request.a, request.b])`, request)); diff != "" {
		t.Errorf("what was not touched (-want +got):\n%s", diff)
	}
	_, err := run(t, script(`export function sync({a, b}) { return {children: [{spec: {...b, ...a}, other: b.n}]} }`), request, time.Minute)
	if err == nil || !strings.Contains(err.Error(), "children[0].spec.n: is 9007199254740992, to which several integers of the request are rounded") {
		t.Errorf("error %v, want the place of the number", err)
	}
}

func TestParameters(t *testing.T) {
	src := script(`export function sync(request) { request.parameters.n++; return [request.parameters, request.a] }`)
	src.Script.Parameters = map[string]any{"n": int64(1)}
	request := map[string]any{"a": "b"}
	for range 2 {
		want := []any{map[string]any{"n": int64(2)}, "b"}
		if diff := cmp.Diff(any(want), answer(t, src, request)); diff != "" {
			t.Errorf("parameters and request (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(map[string]any{"a": "b"}, request); diff != "" {
		t.Errorf("the request was changed (-want +got):\n%s", diff)
	}
}
