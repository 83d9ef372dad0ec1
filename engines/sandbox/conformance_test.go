//go:build unix

package sandbox_test

import (
	"os"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// hooks are the suite's hooks in JavaScript, as far as the place they run in can matter to them.
var hooks = map[enginetest.Hook]string{
	enginetest.Echo:    `export function sync(request) { return request.value }`,
	enginetest.Numbers: `export const sync = ({a, b}) => ({one: 1, half: 3 / 2, negative: -3, large: Number.MAX_SAFE_INTEGER, product: a * b})`,
	enginetest.Change: `export function sync(request) {
  request.labels.a = 'changed';
  request.list.sort((x, y) => x - y);
  return {labels: request.labels, list: request.list};
}`,
	enginetest.Count: `globalThis.calls = (globalThis.calls ?? 0) + 1;
let calls = 0;
export function sync() { calls++; return {calls: Math.max(calls, globalThis.calls)} }`,
	enginetest.Never:   `export function sync() { for (;;); }`,
	enginetest.Fail:    "export function sync() {\n  const why = 'boom';\n  throw new Error(why);\n}",
	enginetest.Invalid: "export function sync() {\n  return {a: };\n}",
	enginetest.Clock:   `export function sync() { return {now: new Date()} }`,
}

func TestConformance(t *testing.T) {
	text, err := os.ReadFile("../javascript/testdata/statefulset.ts")
	if err != nil {
		t.Fatal(err)
	}
	hooks := hooks
	hooks[enginetest.StatefulSet] = string(text)
	for _, d := range newPool(t, sandbox.Config{}).Definitions(definitions()) {
		if d.Name != "JavaScript" {
			continue
		}
		enginetest.Run(t, enginetest.Suite{
			Definition: d,
			Source: func(_ *testing.T, hook enginetest.Hook) engines.Source {
				path := "sync.js"
				if hook == enginetest.StatefulSet {
					path = "sync.ts"
				}
				return engines.Source{Hook: "sync", Script: &engines.Script{Files: map[string]string{path: hooks[hook]}, Path: path}}
			},
			FailsAt:   engines.Location{File: "sync.js", Line: 3, Column: 9},
			InvalidAt: engines.Location{File: "sync.js", Line: 2, Column: 14},
		})
	}
}
