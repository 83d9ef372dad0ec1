package scripts

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/scripts/bundle"
)

// TestBundledSource checks that the files of an archive lie in the tree like keys, with prefix and items, and which of them hooks use.
func TestBundledSource(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Scripts()...)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := bundle.Pack(map[string]string{
		"sync.ts":   "import type { T } from './types'; import { a } from './lib/a'; import d from './d.json'; export const sync = () => ({ a, d } as T)",
		"lib/a.js":  "export { a } from './b.mjs'",
		"lib/b.mjs": "export const a = 1",
		"types.ts":  "export type T = unknown",
		"d.json":    "{}",
		"f.jsonnet": "local l = import 'lib/l.libsonnet'; function(request) l.f + importstr 'd.json'", "lib/l.libsonnet": "{ f: '' }",
		"unused.js":  "import './sync'",
		"c.cel.yaml": "response: '{}'",
	})
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		source   *ConfigMap
		hooks    map[string]Hook
		want     string
		problems string
	}{
		"whole": {&ConfigMap{}, map[string]Hook{"sync": {Path: "sync.ts"}}, "d.json lib/a.js lib/b.mjs sync.ts", ""},
		"prefix": {&ConfigMap{Prefix: "p/q"}, map[string]Hook{"sync": {Path: "p/q/sync.ts"}},
			"p/q/d.json p/q/lib/a.js p/q/lib/b.mjs p/q/sync.ts", ""},
		"items":       {&ConfigMap{Items: []Item{{Key: "lib/b.mjs", Path: "x/sync.js"}}}, map[string]Hook{"sync": {Path: "x/sync.js", Function: "f"}}, "", "x/sync.js"},
		"no item":     {&ConfigMap{Items: []Item{{Key: "b.mjs", Path: "sync.js"}}}, map[string]Hook{"sync": {Path: "sync.js"}}, "", `no key "b.mjs"`},
		"Jsonnet":     {&ConfigMap{}, map[string]Hook{"sync": {Path: "f.jsonnet"}}, "d.json f.jsonnet lib/l.libsonnet", ""},
		"CEL":         {&ConfigMap{}, map[string]Hook{"sync": {Path: "c.cel.yaml"}}, "c.cel.yaml", ""},
		"inline":      {&ConfigMap{}, map[string]Hook{"sync": {Inline: "export { a as sync } from './lib/fn'", Engine: "JavaScript"}}, "", "lib/fn"},
		"inline uses": {&ConfigMap{}, map[string]Hook{"sync": {Inline: "import './lib/b'; export const sync = () => {}", Engine: "JavaScript"}}, "lib/b.mjs", ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.source.Namespace, c.source.Name = "a", "hooks"
			spec := Spec{Sources: []Source{{ConfigMap: c.source}}, Hooks: c.hooks}
			compiled, err := Compile(t.Context(), registry, spec, func(Origin) Contents { return Contents{Files: map[string]string{bundle.Key: string(packed)}} })
			if err != nil {
				t.Fatal(err)
			}
			if len(compiled.Problems) > 0 || c.problems != "" {
				if len(compiled.Problems) == 0 || !strings.Contains(compiled.Problems[0].String(), c.problems) || c.problems == "" {
					t.Errorf("problems %v, want %q", compiled.Problems, c.problems)
				}
				return
			}
			used, err := Imports(t.Context(), registry, spec, compiled, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(slices.Sorted(maps.Keys(used)), " "); got != c.want {
				t.Errorf("files %s\n want %s", got, c.want)
			}
			for file := range used {
				key, known := spec.KeyOf(compiled.Origins[file], file)
				if want := strings.TrimPrefix(file, "p/q/"); key != want || !known {
					t.Errorf("%s is %q of the archive, want %q", file, key, want)
				}
			}
		})
	}
}

// TestBadBundles checks that an archive that can't be unpacked is a problem of its ConfigMap.
func TestBadBundles(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Scripts()...)
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Sources: []Source{{ConfigMap: &ConfigMap{Namespace: "a", Name: "hooks"}}}, Hooks: map[string]Hook{"sync": {Path: "sync.js"}}}
	packed, err := bundle.Pack(map[string]string{"sync.js": "\xff"})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"a text that is no archive": "ConfigMap a/hooks: bundle.tar.gz: gzip: invalid header: write it with libretto bundle",
		string(packed):              "ConfigMap a/hooks: sync.js:1:1: not UTF-8 text",
	} {
		compiled, err := Compile(t.Context(), registry, spec, func(Origin) Contents { return Contents{Files: map[string]string{bundle.Key: text}} })
		if err != nil || len(compiled.Problems) != 1 || !strings.HasPrefix(compiled.Problems[0].String(), want) {
			t.Errorf("problems %v, want %s (%v)", compiled.Problems, want, err)
		}
	}
}
