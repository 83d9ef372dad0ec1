package javascript

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

// covered calls a script that counts coverage, and returns the points that were reached and missed.
func covered(t *testing.T, src engines.Source, request map[string]any) (reached, missed []string, failure *engines.Error) {
	t.Helper()
	program, err := caller.Compile(t, enginetest.WithCoverage(src))
	if err != nil {
		t.Fatal(err)
	}
	response, err := program.Run(t.Context(), engines.Call{Request: request, Now: now})
	reached, missed = enginetest.Points(program, response.Coverage, src.Script.Path)
	return reached, missed, enginetest.AsError(t, err)
}

func TestCoverage(t *testing.T) {
	cases := map[string]struct {
		reason, text    string
		reached, missed []string
	}{
		"statements": {"each has a place, also of one line", "const a = 1; let b\nexport function sync() { b = 2; return a }\nexport function other() { return b }",
			[]string{"1:1", "1:14", "2:26", "2:33"}, []string{"3:27"}},
		"if": {"both outcomes, also without else", "export function sync(r) {\n  if (r.x) return 1\n  if (r.x) { return 2 } else if (!r.x) { return 3 }\n}",
			[]string{"2:3", "2:3 if 1", "3:3", "3:42", "3:23 if 0", "3:3 if 1", "3:23"}, []string{"2:3 if 0", "2:12", "3:14", "3:23 if 1", "3:3 if 0"}},
		"conditional": {"also in each other", "export const sync = (r) => r.x ? 1 : r.y ? 2 : 3",
			[]string{"1:8", "1:38 ?: 1", "1:28 ?: 1", "1:28"}, []string{"1:38 ?: 0", "1:28 ?: 0"}},
		"logical": {"outcome 0 is that the right operand is evaluated", "export function sync(r) {\n  r.x && r.a\n  r.one && r.b\n  r.x || r.c\n  r.one || r.d\n  r.x ?? r.e\n  r.one ?? r.f\n  return 1\n}",
			[]string{"2:3", "2:10 && 1", "3:3", "3:12 && 0", "4:3", "4:10 || 0", "5:3", "5:12 || 1", "6:3", "6:10 ?? 0", "7:3", "7:12 ?? 1", "8:3"},
			[]string{"2:10 && 0", "3:12 && 1", "4:10 || 1", "5:12 || 0", "6:10 ?? 1", "7:12 ?? 0"}},
		"switch": {"one that falls through is reached too", "export function sync(r) {\n  switch (r.one) {\n    case 0: return 0\n    case 1: r.x\n    default: return 2\n  }\n}",
			[]string{"2:3", "4:13", "5:14", "2:3 switch 1", "2:3 switch 2"}, []string{"3:13", "2:3 switch 0"}},
		"defaults": {"of parameters, fields and assignments", "const f = (a = 1, { b = 2, one = 3 } = {}) => a + b + one\nexport function sync(r) {\n  const { one = 4, x = 5 } = r\n  let y = 1\n  y ??= 2\n  return f(undefined, r)\n}",
			[]string{"1:1", "1:25 default 0", "1:16 default 0", "1:47", "3:3", "3:24 default 0", "4:3", "5:3", "6:3"},
			[]string{"1:34 default 0", "1:40 default 0", "3:17 default 0", "5:3 ??= 0"}},
		"loops": {"their bodies are statements", "export function sync(r) {\n  for (const x of []) r.a\n  while (r.x) { r.b }\n  for (let i = 0; i < 1; i++) r.c\n  return 1\n}",
			[]string{"2:3", "3:3", "4:3", "4:31", "5:3"}, []string{"2:23", "3:17"}},
		"try": {"statements after one that throws are missed", "export function sync(r) {\n  try {\n    r.x.y\n    r.z\n  } catch (e) { return 1 } finally { r.a }\n}",
			[]string{"2:3", "3:5", "5:17", "5:38"}, []string{"4:5"}},
		"class": {"methods, and blocks of it", "class A {\n  static { A.x = 1 }\n  get() { return this.y || 1 }\n  never() { return 2 }\n}\nexport const sync = () => new A().get()",
			[]string{"1:1", "2:12", "3:11", "3:28 || 0", "6:8", "6:27"}, []string{"3:28 || 1", "4:13"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			reached, missed, failure := covered(t, script(c.text), map[string]any{"one": int64(1)})
			if failure != nil && name != "try" {
				t.Fatal(failure)
			}
			if diff := cmp.Diff([][]string{c.reached, c.missed}, [][]string{reached, missed}); diff != "" {
				t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCoverageOfFiles(t *testing.T) {
	src := files("sync.ts", map[string]string{
		"sync.ts":                       "import { size } from './lib/size'\nimport lib from 'lib'\n\nexport function sync(request: { n: number }): number {\n  return lib(size(request.n))\n}\n",
		"lib/size.ts":                   "// The size.\n\nexport function size(n: number) {\n  return n\n}\n\nexport function unused() {\n  return 2\n}\n",
		"other.js":                      "const s = require('./lib/size')\nmodule.exports = () => s.size(1)\n",
		"broken.js":                     "const",
		"types.d.ts":                    "export const x = 1\n",
		"sync.test.ts":                  "test('', () => {})\n",
		"node_modules/lib/index.js":     "module.exports = function (x) { return x || 1 }",
		"node_modules/lib/package.json": "{}",
	})
	reached, missed, failure := covered(t, src, map[string]any{"n": int64(1)})
	if failure != nil {
		t.Fatal(failure)
	}
	wantReached, wantMissed := []string{"lib/size.ts:4:3", "5:3"}, []string{"lib/size.ts:8:3", "other.js:1:1", "other.js:2:1", "other.js:2:24"}
	if diff := cmp.Diff([][]string{wantReached, wantMissed}, [][]string{reached, missed}); diff != "" {
		t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
	}
}

func TestCoverageOfFailure(t *testing.T) {
	reached, missed, failure := covered(t, script("export function sync(r) {\n  r.x.y\n  return 1\n}"), map[string]any{})
	if failure == nil || failure.Location.String() != "sync.js:2:7" {
		t.Errorf("failure %v, want one at sync.js:2:7", failure)
	}
	if diff := cmp.Diff([][]string{{"2:3"}, {"3:3"}}, [][]string{reached, missed}); diff != "" {
		t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
	}
}

// TestCoverageOfTimeout checks that a call which was stopped tells what it reached.
func TestCoverageOfTimeout(t *testing.T) {
	program, err := caller.Compile(t, enginetest.WithCoverage(script("export function sync() {\n  let i = 0\n  for (;;) {\n    i++\n  }\n  return i\n}")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	response, err := program.Run(ctx, engines.Call{})
	if engines.KindOf(err) != engines.Timeout {
		t.Fatalf("error %v, want a timeout", err)
	}
	reached, missed := enginetest.Points(program, response.Coverage, "sync.js")
	if diff := cmp.Diff([][]string{{"2:3", "3:3", "4:5"}, {"6:3"}}, [][]string{reached, missed}); diff != "" {
		t.Errorf("points that are reached, and missed (-want +got):\n%s", diff)
	}
}

// TestCoverageKeepsFunctions checks what a script can see of itself.
func TestCoverageKeepsFunctions(t *testing.T) {
	answer(t, script(`const f = function () { return 1 }, g = () => 2, { h = () => 3 } = {}
let i
i ??= () => 4
class A { static x = 1 }
export const sync = (r, s = () => 5) => [f, g, h, i, A, s, sync].map((x) => [x.name, x.length, String(x)])
`), map[string]any{}) // Compares with and without coverage.
}

func TestCoverageIsBounded(t *testing.T) {
	src := enginetest.WithCoverage(script("export const sync = () => 1\nfunction f() {" + strings.Repeat("1;", engines.MaxCoveragePoints) + "}"))
	_, err := caller.Compile(t, src)
	if engines.KindOf(err) != engines.Invalid || err == nil || !strings.Contains(err.Error(), "65536") {
		t.Errorf("error %v", err)
	}
}

func TestNoCoverage(t *testing.T) {
	program, err := caller.Compile(t, script("export const sync = () => 1"))
	if err != nil {
		t.Fatal(err)
	}
	enginetest.CheckNoCoverage(t, program)
}

// BenchmarkCoverage is BenchmarkRun with and without coverage.
func BenchmarkCoverage(b *testing.B) {
	enginetest.BenchmarkCoverage(b, caller, source(b, enginetest.StatefulSet))
}

// BenchmarkCoverageOfLoop is of a hook that does nothing but decide.
func BenchmarkCoverageOfLoop(b *testing.B) {
	src := script("export function sync() {\n  let s = 0\n  for (let i = 0; i < 2000; i++) {\n    if (i % 3 === 0 && s > 5) {\n      s += i\n    } else {\n" +
		"      s = s - 1\n    }\n    s = s > 1000 ? 0 : s\n  }\n  return s\n}")
	b.Run("coverage=off", func(b *testing.B) { enginetest.Benchmark(b, caller.Start(b), src, map[string]any{}) })
	b.Run("coverage=on", func(b *testing.B) {
		enginetest.Benchmark(b, caller.Start(b), enginetest.WithCoverage(src), map[string]any{})
	})
}
