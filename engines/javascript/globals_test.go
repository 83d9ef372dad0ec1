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
