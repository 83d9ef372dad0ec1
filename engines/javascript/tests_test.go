package javascript

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

const testImports = `import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'libretto/test'; `

// testFileOf returns a file of tests, with other files of its tree.
func testFileOf(text string, others map[string]string) engines.Source {
	all := map[string]string{"a.test.js": testImports + text}
	maps.Copy(all, others)
	src := files("a.test.js", all)
	src.Hook = engines.HookTest
	return src
}

func runTest(t *testing.T, src engines.Source, index int64) map[string]any {
	t.Helper()
	result := answer(t, src, map[string]any{"run": []any{index}}).([]any)[0].(map[string]any)
	delete(result, "logs")
	return result
}

// TestMisspeltMatcher calls a matcher that there is not.
func TestMisspeltMatcher(t *testing.T) {
	got := runTest(t, testFileOf(`test('a', () => { expect(1).toEquall(1) })`, nil), 0)
	const want = "TypeError: expect(1).toEquall is not a function: did you mean toEqual?"
	if got["message"] != want {
		t.Errorf("result %v, want the message %s", got, want)
	}
}

// TestMatchers runs each matcher where it holds, and where it does not. Every expression is tried with .not too.
func TestMatchers(t *testing.T) {
	cases := map[string]struct{ passes, fails, message string }{
		"toBe": {`expect(1).toBe(1)`, `expect(1).toBe(2)`, `toBe: want 2, got 1`},
		"toBe of equal objects": {`const o = {}; expect(o).toBe(o)`, `expect({}).toBe({})`,
			`toBe: the values are equal and not the same: use toEqual`},
		"toEqual":                {`expect({a: [1], u: undefined}).toEqual({a: [1]})`, `expect({a: [1]}).toEqual({a: [2]})`, `toEqual: the values differ`},
		"toEqual of a text":      {`expect('a').toEqual('a')`, `expect('a').toEqual('b')`, `toEqual: want "b", got "a"`},
		"toEqual of NaN":         {`expect([NaN]).toEqual([NaN])`, `expect(0).toEqual(-0)`, `toEqual: want -0, got 0`},
		"toEqual of dates":       {`expect(new Date(1)).toEqual(new Date(1))`, `expect(new Date(0)).toEqual(new Date(1))`, `toEqual: want Date "1970-01-01T00:00:00.001Z", got Date "1970-01-01T00:00:00.000Z"`},
		"toEqual of maps":        {`expect(new Map([[{a: 1}, 2]])).toEqual(new Map([[{a: 1}, 2]]))`, `expect(new Map([[1, 2]])).toEqual(new Map())`, `toEqual: the values differ`},
		"toEqual of sets":        {`expect(new Set([{a: 1}])).toEqual(new Set([{a: 1}]))`, `expect(new Set([1])).toEqual(new Set([2]))`, `toEqual: the values differ`},
		"toEqual of cycles":      {`const a = {}, b = {}; a.a = a; b.a = b; expect(a).toEqual(b)`, `const a = {}; a.a = a; expect(a).toEqual({a: {a: 1}})`, `toEqual: the values differ`},
		"toEqual of an array":    {`expect([]).toEqual([])`, `expect([]).toEqual({})`, `toEqual: the values differ`},
		"toStrictEqual":          {`expect({a: 1}).toStrictEqual({a: 1})`, `expect({a: 1, b: undefined}).toStrictEqual({a: 1})`, `toStrictEqual: the values differ in types or in fields that are undefined`},
		"toStrictEqual of types": {`class A {} expect(new A()).toStrictEqual(new A())`, `class A {} expect(new A()).toStrictEqual({})`, `toStrictEqual: the values differ in types or in fields that are undefined`},
		"toMatchObject":          {`expect({a: {b: 1, c: 2}, d: [{e: 1, f: 2}]}).toMatchObject({a: {b: 1}, d: [{e: 1}]})`, `expect({a: [1, 2]}).toMatchObject({a: [1]})`, `toMatchObject: the values differ`},
		"toThrow":                {`expect(() => { throw new Error('x') }).toThrow()`, `expect(() => 1).toThrow()`, `toThrow: the function threw nothing`},
		"toThrow of a text":      {`expect(() => { throw new Error('a port') }).toThrow('port')`, `expect(() => { throw new Error('a') }).toThrow('b')`, `toThrow: want an error with "b", got "a"`},
		"toThrow of a pattern":   {`expect(() => { throw 'a1' }).toThrow(/a\d/)`, `expect(() => { throw 'a' }).toThrow(/b/)`, `toThrow: want an error that matches /b/, got "a"`},
		"toThrow of a class":     {`expect(() => null.a).toThrow(TypeError)`, `expect(() => null.a).toThrow(RangeError)`, `toThrow: want an error of class RangeError, got "Cannot read property 'a' of undefined"`},
		"toThrow of an error":    {`expect(() => { throw new Error('a') }).toThrow(new Error('a'))`, `expect(() => { throw new Error('a') }).toThrow(new Error('b'))`, `toThrow: want an error with the message "b", got "a"`},
		"toContain":              {`expect([1, 2]).toContain(2)`, `expect([1]).toContain(2)`, `toContain: want a list with 2, got [ 1 ]`},
		"toContain of a text":    {`expect('abc').toContain('b')`, `expect('abc').toContain('d')`, `toContain: want a text with "d", got "abc"`},
		"toContainEqual":         {`expect([{a: 1}]).toContainEqual({a: 1})`, `expect([{a: 1}]).toContainEqual({a: 2})`, `toContainEqual: want a list with { "a": 2 }, got [ { "a": 1 } ]`},
		"toHaveLength":           {`expect('abc').toHaveLength(3)`, `expect([1]).toHaveLength(3)`, `toHaveLength: want a length of 3, not 1, got [ 1 ]`},
		"toHaveProperty":         {`expect({a: [{b: 1}]}).toHaveProperty('a[0].b', 1)`, `expect({a: {b: 1}}).toHaveProperty('a.b', 2)`, `toHaveProperty: a.b: want 2, got 1`},
		"toHaveProperty alone":   {`expect({'a.b': 1}).toHaveProperty(['a.b'])`, `expect({a: {}}).toHaveProperty('a.b')`, `toHaveProperty: want a property "a.b", got {}`},
		"toMatch":                {`expect('abc').toMatch(/b/)`, `expect('abc').toMatch('d')`, `toMatch: want a text with "d", got "abc"`},
		"toBeDefined":            {`expect(null).toBeDefined()`, `expect(undefined).toBeDefined()`, `toBeDefined: want any value, got undefined`},
		"toBeUndefined":          {`expect(undefined).toBeUndefined()`, `expect(null).toBeUndefined()`, `toBeUndefined: want undefined, got null`},
		"toBeNull":               {`expect(null).toBeNull()`, `expect(0).toBeNull()`, `toBeNull: want null, got 0`},
		"toBeNaN":                {`expect(NaN).toBeNaN()`, `expect(0).toBeNaN()`, `toBeNaN: want NaN, got 0`},
		"toBeTruthy":             {`expect('a').toBeTruthy()`, `expect('').toBeTruthy()`, `toBeTruthy: want a true value, got ""`},
		"toBeFalsy":              {`expect(0).toBeFalsy()`, `expect(() => 1).toBeFalsy()`, `toBeFalsy: want a false value, got [Function anonymous]`},
		"toBeGreaterThan":        {`expect(2).toBeGreaterThan(1)`, `expect(1).toBeGreaterThan(1)`, `toBeGreaterThan: want more than 1, got 1`},
		"toBeGreaterThanOrEqual": {`expect(1).toBeGreaterThanOrEqual(1)`, `expect(0).toBeGreaterThanOrEqual(1)`, `toBeGreaterThanOrEqual: want at least 1, got 0`},
		"toBeLessThan":           {`expect(1n).toBeLessThan(2n)`, `expect(2n).toBeLessThan(2n)`, `toBeLessThan: want less than 2n, got 2n`},
		"toBeLessThanOrEqual":    {`expect(1).toBeLessThanOrEqual(1)`, `expect(2).toBeLessThanOrEqual(1)`, `toBeLessThanOrEqual: want at most 1, got 2`},
		"toBeCloseTo":            {`expect(0.1 + 0.2).toBeCloseTo(0.3, 5)`, `expect(0.31).toBeCloseTo(0.3)`, `toBeCloseTo: want 0.3 within 2 digits, got 0.31`},
		"toBeInstanceOf":         {`expect(new Map()).toBeInstanceOf(Map)`, `expect({}).toBeInstanceOf(Map)`, `toBeInstanceOf: want an instance of Map, got {}`},
		"objectContaining":       {`expect({a: {b: 1, c: 2}}).toEqual({a: expect.objectContaining({b: 1})})`, `expect(1).toEqual(expect.objectContaining({b: 1}))`, `toEqual: want objectContaining({ "b": 1 }), got 1`},
		"arrayContaining":        {`expect([1, 2, 3]).toEqual(expect.arrayContaining([3, 1]))`, `expect('a').toEqual(expect.arrayContaining([4]))`, `toEqual: want arrayContaining([ 4 ]), got "a"`},
		"stringContaining":       {`expect({a: 'abc'}).toMatchObject({a: expect.stringContaining('b')})`, `expect('a').toEqual(expect.stringContaining('b'))`, `toEqual: want stringContaining("b"), got "a"`},
		"stringMatching":         {`expect('abc').toEqual(expect.stringMatching(/^a/))`, `expect('b').toEqual(expect.stringMatching('a'))`, `toEqual: want stringMatching("a"), got "b"`},
		"any":                    {`expect([1, 'a', true, [], () => 1]).toEqual([Number, String, Boolean, Array, Function].map((t) => expect.any(t)))`, `expect(1).toEqual(expect.any(String))`, `toEqual: want any(String), got 1`},
		"anything":               {`expect({a: 0}).toEqual({a: expect.anything()})`, `expect(null).toEqual(expect.anything())`, `toEqual: want anything, got null`},
		"not.stringContaining":   {`expect('a').toEqual(expect.not.stringContaining('b'))`, `expect('b').toEqual(expect.not.stringContaining('b'))`, `toEqual: want not.stringContaining("b"), got "b"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			negate := func(s string) string {
				at := strings.LastIndex(s, ").to")
				return s[:at] + ").not" + s[at+1:]
			}
			src := testFileOf(fmt.Sprintf(`test('a', () => { %s }); test('b', () => { %s }); test('c', () => { %s }); test('d', () => { %s });`,
				c.passes, c.fails, negate(c.fails), negate(c.passes)), nil)
			for _, index := range []int64{0, 2} {
				if got := runTest(t, src, index); len(got) != 0 {
					t.Errorf("test %d: %v", index, got)
				}
			}
			if got := runTest(t, src, 1)["message"]; got != c.message {
				t.Errorf("message:\n got %v\nwant %v", got, c.message)
			}
			if got := runTest(t, src, 3)["message"]; got == nil || !strings.HasPrefix(got.(string), "not.to") {
				t.Errorf("with not, what holds: %v", got)
			}
		})
	}
}

func TestListOfTests(t *testing.T) {
	src := testFileOf(`
test('one', () => {});
describe('group', () => {
  it.skip('two', () => {});
  describe.only('inner', () => { test('three', () => {}, 50); test.todo('four'); });
});
test.each([[1, {a: 1}], ['b', 2]])('%s and %j, %#: %%', () => {});
test.each([{ a: { b: 'c' }, n: 1 }])('$a.b $n $x', () => {});
test.each`+"`a | b\n${1} | ${'x'}\n${2} | ${'y'}`"+`('$a$b', () => {});
`, nil)
	var got []string
	for _, entry := range answer(t, src, map[string]any{}).([]any) {
		e := entry.(map[string]any)
		got = append(got, fmt.Sprint(e["name"], "|", e["mode"], "|", e["timeout"], "|", e["stack"].([]any)[0]))
	}
	want := []string{
		"one||<nil>|at a.test.js:2:1",
		"group > two|skip|<nil>|at <anonymous> (a.test.js:4:6)",
		"group > inner > three|only|50|at <anonymous> (a.test.js:5:34)",
		"group > inner > four|todo|<nil>|at <anonymous> (a.test.js:5:68)",
		`1 and { "a": 1 }, 0: %||<nil>|at a.test.js:7:34`,
		"b and 2, 1: %||<nil>|at a.test.js:7:34",
		"c 1 $x||<nil>|at a.test.js:8:36",
		"1x||<nil>|at a.test.js:11:13",
		"2y||<nil>|at a.test.js:11:13",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestResultOfATest(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		want         map[string]any
	}{
		"difference": {"both sides are shown as JSON with sorted keys", `test('x', () => { expect({b: 1, a: [undefined]}).toEqual({a: []}) })`, map[string]any{
			"message": "toEqual: the values differ", "expected": "{\n  \"a\": []\n}", "actual": "{\n  \"a\": [\n    undefined\n  ],\n  \"b\": 1\n}",
			"stack": []any{"at a.test.js:1:154"},
		}},
		"part": {"toMatchObject shows what was asked for", `test('x', () => { expect({a: 1, b: 2}).toMatchObject({a: 2}) })`, map[string]any{
			"message": "toMatchObject: the values differ", "expected": "{\n  \"a\": 2\n}", "actual": "{\n  \"a\": 1\n}",
			"stack": []any{"at a.test.js:1:144"},
		}},
		"exception": {"of a file that hooks have", `import { f } from './f.js'; test('x', () => { f() })`, map[string]any{
			"message": "TypeError: bad", "stack": []any{"at f (f.js:2:9)", "at a.test.js:1:151"},
		}},
		"order": {"what is before and after is called from the outside and back", `
const log = []; beforeEach(() => log.push(1)); beforeAll(() => log.push(0)); afterAll(() => { throw log.join() });
describe('g', () => { beforeEach(() => log.push(2)); afterEach(() => log.push(4)); test('x', async () => { log.push(3) }) })`, map[string]any{
			"message": "threw 0,1,2,3,4", "stack": []any{},
		}},
		"promise":        {"tests may be async", `test('x', async () => { await expect(Promise.resolve(1)).resolves.toBe(1); })`, map[string]any{}},
		"rejected":       {"and so may be what is tested", `test('x', async () => { await expect(async () => { throw new Error('a') }).rejects.toThrow('a'); })`, map[string]any{}},
		"failed promise": {"await is awaited", `test('x', async () => { await expect(Promise.resolve(1)).rejects.toBe(1); })`, map[string]any{"message": "rejects: the promise resolved to 1", "stack": []any{}}},
		"no number":      {"a matcher says what it takes", `test('x', () => { expect('1').toBeLessThan(2) })`, map[string]any{"message": "toBeLessThan: compares numbers, got \"1\"", "stack": []any{"at a.test.js:1:135"}}},
		"each":           {"the values of a row are arguments", `test.each([[1, 2]])('x', (a, b) => { expect([a, b]).toEqual([1, 2]) })`, map[string]any{}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := runTest(t, testFileOf(c.text, map[string]string{"f.js": "export function f() {\n  throw new TypeError('bad');\n}"}), 0)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", c.reason, diff)
			}
		})
	}
}

// TestModuleForTests checks who can import libretto/test.
func TestModuleForTests(t *testing.T) {
	const want = `sync.js:1:24: can't import "libretto/test": it is there for tests alone, which are files *.test.js and *.test.ts that libretto test runs: ` +
		`take the import out of what hooks reach`
	if got := compileError(t, files("sync.js", map[string]string{"sync.js": "import { expect } from 'libretto/test'; export const sync = () => expect;"})); got.Error() != want {
		t.Errorf("of a hook: %v", got)
	}
	helper := testFileOf(`import { same } from './helper.js'; test('x', () => same(1))`, map[string]string{
		"helper.js": "import { expect } from 'libretto/test'; export const same = (v) => expect(v).toBe(v);"})
	if got := runTest(t, helper, 0); len(got) != 0 {
		t.Errorf("of a helper of tests: %v", got)
	}
	inner := testFileOf(`import { equals } from 'libretto/test/matchers';`, nil)
	if got := compileError(t, inner); !strings.Contains(got.Error(), "libretto/test/matchers") {
		t.Errorf("of its own part: %v", got)
	}
	for _, framework := range []string{"vitest", "@jest/globals", "bun:test"} {
		other := testFileOf(fmt.Sprintf("import { vi } from %q; vi.fn();", framework), nil)
		if got := compileError(t, other); !strings.Contains(got.Error(), `import from "libretto/test"`) {
			t.Errorf("of %s: %v", framework, got)
		}
	}
}

func BenchmarkTestOf10000(b *testing.B) {
	src := testFileOf(`for (let i = 0; i < 10000; i++) test('test ' + i, () => { expect(i).toBe(i) })`, nil)
	program, err := engine{}.Compile(b.Context(), src)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := program.Run(b.Context(), engines.Call{Request: map[string]any{"run": []any{int64(5000)}}}); err != nil {
			b.Fatal(err)
		}
	}
}
