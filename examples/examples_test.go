// Package examples_test runs the tests of the examples.
package examples_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/test/cases"
)

func TestMain(m *testing.M) { cases.Main(m) }

// watchOfSeveral is a command that kubectl refuses.
var watchOfSeveral = regexp.MustCompile(`kubectl get \S+,.*--watch`)

// TestExamples runs what `libretto test examples/...` runs. Each example has tests, and its README says how to run them and how to apply it.
func TestExamples(t *testing.T) {
	for _, name := range folders(t) {
		t.Run(name, func(t *testing.T) {
			results := runOf(t, name).Results
			if results.MustPass(t); len(results.All) == 0 {
				t.Errorf("examples/%s has no tests", name)
			}
			readme := read(t, filepath.Join(name, "README.md"))
			commands := []string{"libretto test examples/" + name, "kubectl apply -k examples/" + name}
			if _, err := os.Stat(filepath.Join(name, "kustomization.yaml")); err != nil {
				commands[1] = "kubectl apply -f examples/" + name
			}
			for _, command := range commands {
				if !strings.Contains(readme, command) {
					t.Errorf("examples/%s/README.md does not have the command %s", name, command)
				}
			}
			if command := watchOfSeveral.FindString(readme); command != "" {
				t.Errorf("examples/%s/README.md: kubectl watches one resource at a time, and refuses %s", name, command)
			}
		})
	}
}

var row = regexp.MustCompile(`(?m)^\| \[([a-z]+)\]\(([a-z]+)/README\.md\) \| .+ \| ([a-z]+) \| ([a-z, ]+) \| .+ \|$`)

// TestTable checks that the table in README.md has each example once, with the kind and the hooks of its definitions.
func TestTable(t *testing.T) {
	var want, got []string
	for _, match := range row.FindAllStringSubmatch(read(t, "README.md"), -1) {
		got = append(got, strings.Join(match[1:], " | "))
	}
	for _, name := range folders(t) {
		kinds, hooks := definitionsIn(t, name)
		want = append(want, strings.Join([]string{name, name, strings.Join(kinds, ", "), strings.Join(hooks, ", ")}, " | "))
	}
	slices.Sort(got)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table in README.md has\n%s\nwant (name | folder | kind | hooks)\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// hookOrder is the order of hooks in the table.
var hookOrder = []string{"sync", "customize", "map", "tombstone", "finalize"}

// definitionsIn returns the kinds and the hooks of the definitions in a folder.
func definitionsIn(t *testing.T, folder string) (kinds, hooks []string) {
	t.Helper()
	foundKinds, foundHooks := map[string]bool{}, map[string]bool{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" || strings.HasSuffix(path, ".cel.yaml") || strings.Contains(path, "testdata") {
			return err
		}
		for text := range strings.SplitSeq(read(t, path), "\n---\n") {
			var object struct {
				Kind string
				Spec struct{ Hooks map[string]any }
			}
			if err := yaml.Unmarshal([]byte(text), &object); err != nil {
				continue // Such as a list, or a file of cases whose objects have specs of their own.
			}
			if kind, is := strings.CutSuffix(object.Kind, "Controller"); is {
				foundKinds[strings.ToLower(kind)] = true
				for hook := range object.Spec.Hooks {
					foundHooks[hook] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	hooks = slices.SortedFunc(maps.Keys(foundHooks), func(a, b string) int { return slices.Index(hookOrder, a) - slices.Index(hookOrder, b) })
	return slices.Sorted(maps.Keys(foundKinds)), hooks
}

// folders returns the names of the examples.
func folders(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
