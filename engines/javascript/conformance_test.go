package javascript

import (
	_ "embed"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
)

//go:embed testdata/statefulset.ts
var statefulSet string

// hooks are the suite's hooks. All but one are written as JavaScript.
var hooks = map[enginetest.Hook]string{
	enginetest.Echo:    `export function sync(request) { return request.value }`,
	enginetest.Numbers: `export const sync = ({a, b}) => ({one: 1, half: 3 / 2, negative: -3, large: Number.MAX_SAFE_INTEGER, product: a * b})`,
	enginetest.Change: `
export function sync(request) {
  request.labels.a = 'changed';
  request.list.sort((x, y) => x - y);
  delete request.missing;
  return request;
}`,
	enginetest.Count: `
globalThis.calls = (globalThis.calls ?? 0) + 1;
Array.prototype.calls = (Array.prototype.calls ?? 0) + 1;
let calls = 0;
export function sync(request) {
  calls++;
  return {calls: Math.max(calls, globalThis.calls, [].calls)};
}`,
	enginetest.Never:       `export async function sync() { await null; for (;;) { try { for (;;); } finally { continue } } }`,
	enginetest.Fail:        "export function sync() {\n  const why = 'boom';\n  throw new Error(why);\n}",
	enginetest.Invalid:     "export function sync() {\n  return {a: };\n}",
	enginetest.Clock:       `export function sync() { return {now: new Date()} }`,
	enginetest.StatefulSet: statefulSet,
}

func source(hook enginetest.Hook) engines.Source {
	path := "sync.js"
	if hook == enginetest.StatefulSet {
		path = "sync.ts"
	}
	return engines.Source{Hook: "sync", Script: &engines.Script{Files: map[string]string{path: hooks[hook]}, Path: path}}
}

func TestConformance(t *testing.T) {
	enginetest.Run(t, enginetest.Suite{
		Definition: Definition(),
		Source:     func(_ *testing.T, hook enginetest.Hook) engines.Source { return source(hook) },
		FailsAt:    engines.Location{File: "sync.js", Line: 3, Column: 9},
		InvalidAt:  engines.Location{File: "sync.js", Line: 2, Column: 14},
	})
}
