package manifest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// failing is an engine whose programs fail at the second line of the file that they are made of.
type failing struct{ engines.ProgramBase }

func (failing) Compile(_ context.Context, source engines.Source) (engines.Program, error) {
	if source.Script.Files[source.Script.Path] == "broken\n" {
		return nil, engines.InvalidError(engines.Location{File: source.Script.Path, Line: 1}, "does not load")
	}
	return failing{}, nil
}

func (failing) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, &engines.Error{Message: "throws", Location: engines.Location{File: "sync.js", Line: 2, Column: 3}}
}

const withScripts = `apiVersion: v1
kind: ConfigMap
metadata: {name: hooks}
data:
  sync.js: |
    // A comment.
    throw
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: a}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  scriptSources: [{configMap: {namespace: default, name: hooks}}]
  hooks: {sync: {script: {path: sync.js}}}
`

// TestPrograms checks that errors have places in the author's files: in YAML, in a directory, and where a source is named that is not there.
func TestPrograms(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"app/a.yaml": withScripts, "src/sync.js": "one\ntwo\n", "broken/sync.js": "broken\n"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	registry, err := engines.NewRegistry(engines.Config{}, engines.Definition{
		Name: "JavaScript", Extensions: []string{".js"}, New: func(engines.Config) (engines.Engine, error) { return failing{}, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	hooks := scripts.ConfigMapName("default", "hooks")
	for name, c := range map[string]struct {
		scripts map[scripts.ObjectName]string
		from    string
		want    string
	}{
		"in a ConfigMap":             {nil, "hooks", "app/a.yaml:7:7: throws"},
		"in a directory":             {map[scripts.ObjectName]string{hooks: "src"}, "hooks", "src/sync.js:2:3: throws"},
		"a script that is broken":    {map[scripts.ObjectName]string{hooks: "broken"}, "hooks", "broken/sync.js:1: does not load"},
		"a ConfigMap that is absent": {nil, "other", "app/a.yaml:14:19: ConfigMap default/other: it is not among the files, and no directory is laid in its place"},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := Load(t.Context(), Options{Filenames: []string{"app"}, Scripts: c.scripts})
			if err != nil {
				t.Fatal(err)
			}
			spec := scripts.Spec{
				Definition: "a", Sources: []scripts.Source{{ConfigMap: &scripts.ConfigMap{Namespace: "default", Name: c.from}}},
				Hooks: map[string]scripts.Hook{"sync": {Path: "sync.js"}},
			}
			compiled, err := set.Programs(t.Context(), registry, set.Definitions[0], spec)
			if err == nil {
				_, err = compiled.ByHook["sync"].Run(t.Context(), engines.Call{})
				var e *engines.Error
				if !errors.As(err, &e) {
					t.Errorf("%T is no error of an engine", err)
				}
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// TestInputs checks that a set tells what it was made of, and that ignored files are neither read nor skipped.
func TestInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"app/a.yaml": withScripts, "app/ignored.yaml": "{", "src/sync.js": "x\n",
		"base/kustomization.yaml": "resources: [a.yaml]\n", "base/a.yaml": withScripts,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	hooks := scripts.ConfigMapName("default", "hooks")
	for name, c := range map[string]struct {
		options Options
		want    []string
	}{
		"a directory":            {Options{Filenames: []string{"app"}}, []string{"app", "app/a.yaml"}},
		"a file and a directory": {Options{Filenames: []string{"app/a.yaml"}, Scripts: map[scripts.ObjectName]string{hooks: "src"}}, []string{"app/a.yaml", "src"}},
		"a kustomization":        {Options{Filenames: []string{"base"}}, []string{"base", "base/a.yaml", "base/kustomization.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Ignore = func(name string) bool { return filepath.Base(name) == "ignored.yaml" }
			set, err := Load(t.Context(), c.options)
			if err != nil || set.Err() != nil {
				t.Fatal(err, set.Err())
			}
			if diff := cmp.Diff(c.want, slices.Compact(set.Inputs)); diff != "" || len(set.Skipped) > 0 {
				t.Errorf("skipped %v, -want +got:\n%s", set.Skipped, diff)
			}
		})
	}
}
