package standard

import (
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// TestByteOrderMark checks that each language takes files that begin with a byte order mark, imported ones too.
func TestByteOrderMark(t *testing.T) {
	const mark = engines.ByteOrderMark
	registry, err := engines.NewRegistry(engines.Config{}, Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	for path, files := range map[string]engines.Files{
		"sync.js":       {"sync.js": mark + `import a from "./a"; export const sync = () => ({a});`, "a.js": mark + "export default 1;"},
		"sync.ts":       {"sync.ts": mark + `import a from "./a"; export const sync = (): any => ({a});`, "a.ts": mark + "export default 1 as number;"},
		"sync.jsonnet":  {"sync.jsonnet": mark + "function(request) {a: import 'a.libsonnet'}", "a.libsonnet": mark + "1"},
		"sync.cel":      {"sync.cel": mark + "{'a': 1}"},
		"sync.cel.yaml": {"sync.cel.yaml": mark + "response: {a: 1}"},
		"inline":        {"inline": mark + "response: {a: 1}"}, // Known for a document by its start.
	} {
		t.Run(path, func(t *testing.T) {
			name := "CEL"
			if path != "inline" {
				if name, err = registry.NameForPath(path); err != nil {
					t.Fatal(err)
				}
			}
			engine, err := registry.ByName(name)
			if err != nil {
				t.Fatal(err)
			}
			program, err := engine.Compile(t.Context(), engines.Source{Hook: "sync", Script: &engines.Script{Files: files, Path: path}})
			if err != nil {
				t.Fatal(err)
			}
			response, err := program.Run(t.Context(), engines.Call{Request: map[string]any{}, Now: time.Unix(0, 0)})
			if body, _ := response.Body.(map[string]any); err != nil || body["a"] == nil {
				t.Errorf("answer %v, error %v", response.Body, err)
			}
		})
	}
}
