package jsonnet

import (
	_ "embed"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

//go:embed testdata/statefulset.jsonnet
var statefulSet string

// hooks are the suite's hooks.
var hooks = map[enginetest.Hook]string{
	enginetest.Echo: `function(request) request.value`,
	enginetest.Numbers: `
function(request) { one: 1, half: 3 / 2, negative: -3, large: 9007199254740991, product: request.a * request.b }`,
	enginetest.Change: `
function(request) {
  labels: request.labels { a: 'changed' },
  list: std.sort(request.list),
}`,
	// The language has nothing to count calls with.
	enginetest.Count: `function(request) { calls: 1 }`,
	// A thousand times a thousand times a thousand steps take longer than any test.
	enginetest.Never: `
function(request)
  local loop(f) = std.foldl(function(sum, i) sum + f(i), std.range(0, 999), 0);
  loop(function(a) loop(function(b) loop(function(c) loop(function(d) a + b + c + d))))`,
	enginetest.Fail:        "function(request)\n  local why = 'boom';\n  error why\n",
	enginetest.Invalid:     "function(request) {\n  a: ]\n}",
	enginetest.StatefulSet: statefulSet,
}

func source(hook enginetest.Hook) engines.Source { return script(hooks[hook]) }

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Definition: Definition(),
		Source:     func(_ *testing.T, hook enginetest.Hook) engines.Source { return source(hook) },
		FailsAt:    engines.Location{File: "sync.jsonnet", Line: 3, Column: 3},
		InvalidAt:  engines.Location{File: "sync.jsonnet", Line: 2, Column: 6},
		Exempt:     map[string]string{"time dependent": "Jsonnet has no clock"},
	})
}
