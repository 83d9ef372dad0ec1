package jsonnet

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

func TestFailures(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		kind         engines.Kind
		want         string
	}{
		"error":              {"the message is the author's", "function(request)\n  error 'boom'", engines.Failed, "sync.jsonnet:2:3: boom"},
		"error of an object": {"as Jsonnet writes values", "function(request) error { a: 1 }", engines.Failed, `sync.jsonnet:1:19: {"a": 1}`},
		"missing field":      {"the place is that of the expression", "function(request)\n  { a: request.nothing }", engines.Failed, "sync.jsonnet:2:8: Field does not exist: nothing"},
		"in std":             {"the place is the author's, who called it", "function(request)\n  std.substr(1, 2, 3)", engines.Failed, "sync.jsonnet:2:3: substr first parameter should be a string"},
		"in a format":        {"the place is that of the %", "function(request)\n  local n = 'x'; 'a-%d' % n", engines.Failed, "sync.jsonnet:2:18: Format required number at 0, got string"},
		"in a list format":   {"the place is that of the %", "function(request)\n  'a-%d' % ['x']", engines.Failed, "sync.jsonnet:2:3: Format required number at 0, got string"},
		"in a native":        {"the place is that of the call", "function(request)\n  std.native('parseJson')('{')", engines.Failed, "sync.jsonnet:2:3: parseJson: unexpected end of JSON input"},
		"assertion":          {"objects can check themselves", "function(request)\n  { assert false : 'wrong', a: 1 }", engines.Failed, "sync.jsonnet:2:5: wrong"},
		"external variable":  {"there are none", "function(request) std.extVar('x')", engines.Failed, `sync.jsonnet:1:19: std.extVar("x"): it gives the fields of script.parameters, which the hook does not have`},
		"recursion":          {"the stack is bounded", "local f(n) = 1 + f(n + 1); function(request) f(0)", engines.Exhausted, "sync.jsonnet:1:18: calls and fields wait for each other more than 500 deep"},
		"deep answer":        {"so is the answer", "local f(n) = { a: f(n + 1) }; function(request) f(0)", engines.Exhausted, "sync.jsonnet:1:19: calls and fields wait for each other more than 500 deep"},
		"tail recursion":     {"which takes no frames of the VM's, but Go's stack", "local f(n) = f(n + 1) tailstrict; function(request) f(0)", engines.Exhausted, "expressions wait for each other more than 24000 deep"},
		"lazy recursion":     {"whatever waits for what", "local f(n, x) = f(n + 1, x + 1) tailstrict; function(request) f(0, 0)", engines.Exhausted, "expressions wait for each other more than 24000 deep"},
		"large answer":       {"the host has to hold it", "function(request) local s = std.foldl(function(s, i) s + s, std.range(1, 20), 'x'); [s for i in std.range(1, 9)]", engines.Exhausted, "the response is larger than 8 MiB"},
		"function":           {"JSON has none", "function(request) function(x) x", engines.BadResponse, "the hook gave back a function, not a response: is an argument missing?"},
		"function in it":     {"the path leads to it", "function(request) { status: {}, children: [{}, { metadata: { labels: { 'a/b': std.length } } }] }", engines.BadResponse, `children[1].metadata.labels["a/b"]: is a function, which is no JSON`},
		"function first":     {"the path leads to it", "function(request) [function() 1]", engines.BadResponse, "[0]: is a function, which is no JSON"},
		"function of a key":  {"the path leads to it", "function(request) { 'it`s \"q\"': std.length }", engines.BadResponse, "[\"it`s \\\"q\\\"\"]: is a function, which is no JSON"},
		"function as text":   {"that is no matter of the answer", "function(request) {\n  a: 'x' + { b: [std.length] } }", engines.Failed, "sync.jsonnet:2:6: couldn't manifest function as JSON"},
		"overflow":           {"JSON has no infinity", "function(request) 1e308 * 10", engines.Failed, "sync.jsonnet:1:19: Overflow"},
		"long message":       {"events have no room", "function(request) error std.repeat('é', 100000)", engines.Failed, "sync.jsonnet:1:19: ééé"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			response, got := run(t, script(c.text), map[string]any{"parent": map[string]any{}}, time.Minute)
			if got == nil || got.Kind != c.kind || !strings.HasPrefix(got.Error(), c.want) || len(got.Error()) > maxShownBytes+100 {
				t.Errorf("answer %v, error\n%v, want one of kind %s that starts with\n%s", response.Body, got, c.kind.Reason(), c.want)
			}
		})
	}
}

func TestStack(t *testing.T) {
	_, got := run(t, files("a.jsonnet", map[string]string{
		"a.jsonnet":         "local lib = import 'lib/b.libsonnet';\nfunction(request)\n  local inner(x) = lib.check(x);\n  { a: std.map(inner, [1]) }",
		"lib/b.libsonnet":   "{\n  check(x): self.fail('b' + x),\n  fail(m): error m,\n}",
		"lib/unused.libson": "]",
	}), map[string]any{}, time.Minute)
	want := []string{
		"at lib/b.libsonnet:3:12",
		"at lib/b.libsonnet:2:13",
		"at inner (a.jsonnet:3:20)",
	}
	if got == nil || got.Location != (engines.Location{File: "lib/b.libsonnet", Line: 3, Column: 12}) {
		t.Fatalf("error %v, want one at lib/b.libsonnet:3:12", got)
	}
	if diff := cmp.Diff(want, got.Stack[:min(3, len(got.Stack))]); diff != "" {
		t.Errorf("innermost frames (-want +got):\n%s", diff)
	}
}

// TestStop stops what does not end by itself before years, while it evaluates.
func TestStop(t *testing.T) {
	const loop = "local loop(f) = std.foldl(function(sum, i) sum + f(i), std.range(0, 999), 0);\n"
	for name, text := range map[string]string{
		"in the function": loop + "function(request) loop(function(a) loop(function(b) loop(function(c) loop(function(d) 1))))",
		"in the answer":   loop + "function(request) { a: loop(function(a) loop(function(b) loop(function(c) loop(function(d) 1)))) }",
		"in a format":     loop + "function(request) '%d' % loop(function(a) loop(function(b) loop(function(c) loop(function(d) 1))))",
		"comprehension":   "local r = std.range(0, 999); function(request) std.length([0 for a in r for b in r for c in r for d in r if d < 0])",
		"fields":          "local f(o, n) = f(o { a+: n }, n) tailstrict; local g(n) = if n == 0 then 0 else g(n - 1) + g(n - 1); function(request) g(400)",
	} {
		t.Run(name, func(t *testing.T) {
			response, got := run(t, script(text), map[string]any{}, 100*time.Millisecond)
			if got == nil || got.Kind != engines.Timeout {
				t.Errorf("answer %v, error %v, want a timeout", response.Body, got)
			}
		})
	}
}

func TestStopAtLoad(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := caller.Start(t).Compile(ctx, script("local g(n) = if n == 0 then 0 else g(n - 1) + g(n - 1); if g(400) > 0 then {} else {}"))
	if got := enginetest.AsError(t, err); got == nil || got.Kind != engines.Timeout {
		t.Errorf("error %v, want a timeout", got)
	}
}

// TestHooks fails with a version of go-jsonnet that can't be stopped as this one
// can. Hooks of any other shape must not be written to.
func TestHooks(t *testing.T) {
	if !hasEvalHooks() {
		t.Error("this version of go-jsonnet has no evaluation hooks as the engine knows them: calls can't be stopped")
	}
	type interpreter struct{}
	cases := map[string]struct {
		reason string
		hook   any
		want   bool
	}{
		"pointer": {"a pointer is passed otherwise than an interface", struct {
			pre  func(*interpreter, ast.Node)
			post func(*interpreter, ast.Node, ast.Context, error)
		}{}, false},
		"value": {"an interface with methods stands for a value", struct {
			pre  func(*interpreter, ast.Node)
			post func(*interpreter, ast.Node, reflect.Type, error)
		}{}, true},
		"any": {"one without is another thing", struct {
			pre  func(*interpreter, ast.Node)
			post func(*interpreter, ast.Node, any, error)
		}{}, false},
		"more": {"what is unknown is not written to", struct{ pre, post, more func() }{}, false},
		"results": {"nor is one that gives something", struct {
			pre  func(*interpreter, ast.Node) error
			post func(*interpreter, ast.Node, reflect.Type, error)
		}{}, false},
		"renamed": {"names say what it is for", struct {
			before func(*interpreter, ast.Node)
			post   func(*interpreter, ast.Node, reflect.Type, error)
		}{}, false},
		"no struct": {"it may become anything", func() {}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := hasHookLayout(reflect.TypeOf(c.hook)); got != c.want {
				t.Errorf("fits is %v, want %v", got, c.want)
			}
		})
	}
}

// TestDefects: what the engine itself can't do is an error as any other.
func TestDefects(t *testing.T) {
	_, err := guarded(func() (ast.Node, error) { panic("no such token") })
	if got := staticError("a.jsonnet", err); got.Kind != engines.Invalid || got.Error() != "a.jsonnet: the Jsonnet parser failed: no such token" {
		t.Errorf("a panic of the parser became %v", got)
	}
	crash := errors.New("(CRASH) nil map\ngoroutine 1 [running]:")
	if got := (&call{}).toError(t.Context(), crash); got.Kind != engines.Failed || got.Error() != "the Jsonnet engine failed: (CRASH) nil map" || !errors.Is(got, crash) {
		t.Errorf("a panic of the VM became %v", got)
	}
}

// TestWithoutHooks: an engine that can't stop calls answers them all the same.
func TestWithoutHooks(t *testing.T) {
	program, err := engine{cache: newCache()}.Compile(t.Context(), script("function(request) '%s' % request.a"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{"a": "x"}})
	if err != nil || response.Body != "x" {
		t.Errorf("answer %v, error %v", response.Body, err)
	}
}
