package scripts

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// TestCompileOnce checks that a tree compiled once has the programs, the files and the problems that a Library would report.
func TestCompileOnce(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Scripts()...)
	if err != nil {
		t.Fatal(err)
	}
	source := &ConfigMap{Namespace: "a", Name: "hooks", Prefix: "lib", Items: []Item{{Key: "one", Path: "one.js"}}}
	spec := Spec{
		Sources: []Source{{ConfigMap: source}, {Directory: &Directory{Path: "d"}}},
		Hooks:   map[string]Hook{"sync": {Path: "sync.js"}, "finalize": {Inline: "function(request) {}", Engine: "Jsonnet"}},
	}
	for name, c := range map[string]struct {
		one, sync string
		missing   bool
		want      []string
	}{
		"loads":            {"export const a = 1", `import { a } from "./lib/one.js"; export const sync = () => a`, false, []string{"finalize", "sync"}},
		"a missing source": {"", "", true, []string{"directory d: " + ErrMissing.Error()}},
		"a bad file":       {"export const a = ;", `import { a } from "./lib/one.js"; export const sync = () => a`, false, []string{"finalize", `ConfigMap a/hooks: lib/one.js:1:18: Unexpected ";"`}},
	} {
		t.Run(name, func(t *testing.T) {
			contents := func(o Origin) Contents {
				switch {
				case o.Directory == "":
					return Contents{Files: map[string]string{"one": c.one, "two": "unused"}}
				case c.missing:
					return Contents{}
				}
				return Contents{Files: map[string]string{"sync.js": c.sync}}
			}
			compiled, err := Compile(t.Context(), registry, spec, contents)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, hook := range []string{"finalize", "sync"} {
				if compiled.Programs[hook] != nil {
					got = append(got, hook)
				}
			}
			for _, p := range compiled.Problems {
				got = append(got, fmt.Sprint(p))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if key, known := spec.KeyOf(spec.Sources[0].Origin(), "lib/one.js"); key != "one" || !known {
		t.Errorf("lib/one.js is key %q, %v", key, known)
	}
	if _, err := Compile(t.Context(), registry, Spec{Sources: []Source{{}}}, nil); err == nil {
		t.Error("a source that is none is accepted")
	}
}
