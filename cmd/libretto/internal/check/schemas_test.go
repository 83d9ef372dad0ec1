package check

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestSeededMistakes checks how many of 60 mistakes of fields and types are found, 15 in each language, and that none is in the scripts
// before. A mistake is found if it is reported on its line.
func TestSeededMistakes(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	found, mistakes := 0, 0
	for _, name := range []string{"sync.js", "sync.ts", "sync.jsonnet", "sync.cel.yaml"} {
		archive, err := txtar.ParseFile(filepath.Join("testdata", "seeded", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		script := string(archive.Files[0].Data)
		if got := mismatches(t, registry, name, script); len(got) > 0 {
			t.Errorf("%s is right, and is reported: %v", name, got)
		}
		for line := range strings.Lines(string(archive.Files[1].Data)) {
			right, wrong, _ := strings.Cut(strings.TrimSpace(line), " => ")
			before, after, ok := strings.Cut(script, right)
			if !ok {
				t.Fatalf("%s has no %q", name, right)
			}
			mistakes++
			place := 1 + strings.Count(before, "\n")
			if got := mismatches(t, registry, name, before+wrong+after); slices.ContainsFunc(got, func(f Finding) bool { return f.Location.Line == place }) {
				found++
			} else {
				t.Logf("%s:%d: %s is not found: %v", name, place, wrong, got)
			}
		}
	}
	t.Logf("%d of %d mistakes are found", found, mistakes)
	if mistakes != 60 || found < 55 {
		t.Errorf("%d of %d mistakes are found, want at least 55 of 60", found, mistakes)
	}
}

// TestNoFalseAlarm checks that nothing is found in the examples and in the scripts of the guide.
func TestNoFalseAlarm(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	folders, err := filepath.Glob(filepath.Join(clitest.Examples, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for i, folder := range folders {
		folders[i] = filepath.Dir(folder)
	}
	folders = append(slices.Compact(folders), guideFolders(t)...)
	scripts := 0
	for _, folder := range folders {
		result := checked(t, registry, folder)
		scripts += result.Scripts
		for _, f := range result.Findings {
			if f.Reason == reasonSchemaMismatch {
				t.Errorf("%s: %s", f.Location, f.Message)
			}
		}
	}
	t.Logf("%d scripts in %d folders", scripts, len(folders))
	if scripts < 50 {
		t.Errorf("only %d scripts are checked", scripts)
	}
}

// checked checks a folder, whose scripts are beside the manifests or in the folder scripts.
func checked(tb testing.TB, registry *engines.Registry, folder string) *Result {
	tb.Helper()
	options := manifest.Options{Filenames: []string{folder}, IsScript: standard.IsScript}
	if _, err := os.Stat(filepath.Join(folder, "scripts")); err == nil {
		if _, err := os.Stat(filepath.Join(folder, "kustomization.yaml")); err != nil {
			options.Scripts = map[scripts.ObjectName]string{scripts.ConfigMapName("default", "hooks"): filepath.Join(folder, "scripts")}
		}
	}
	set, err := manifest.Load(tb.Context(), options)
	if err != nil {
		tb.Fatalf("%s: %v", folder, err)
	}
	result, err := Run(tb.Context(), set, registry)
	if err != nil {
		tb.Fatalf("%s: %v", folder, err)
	}
	return result
}

// guideFolders returns folders with the archives of test/guide, each with the scripts of docs/guide that it names.
func guideFolders(t *testing.T) []string {
	t.Helper()
	root := filepath.Join("..", "..", "..", "..")
	blocks := map[string]string{}
	pages, _ := filepath.Glob(filepath.Join(root, "docs", "guide", "*.md"))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		section, open, numbers := "", "", map[string]int{}
		for line := range strings.Lines(string(text)) {
			language, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
			switch {
			case isFence && open == "":
				numbers[section+language]++
				open = fmt.Sprintf("%s, %s %d", section, language, numbers[section+language])
			case isFence:
				open = ""
			case open != "":
				blocks[open] += line
			case strings.HasPrefix(line, "#"):
				section = strings.TrimSpace(strings.TrimLeft(line, "#"))
			}
		}
	}
	archives, err := filepath.Glob(filepath.Join(root, "test", "guide", "testdata", "guide", "*.txtar"))
	if err != nil || len(archives) < 10 {
		t.Fatalf("%d archives of the guide: %v", len(archives), err)
	}
	var folders []string
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(archive.Comment)) {
			name, key, _ := strings.Cut(strings.TrimSpace(line), ": ")
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(blocks[key])})
		}
		folders = append(folders, unpack(t, &txtar.Archive{Files: append(archive.Files, txtar.File{Name: "want"})}))
	}
	return folders
}

// BenchmarkExample measures the check of an example in this process.
func BenchmarkExample(b *testing.B) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"hello", "vitess", "catset"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				checked(b, registry, filepath.Join(clitest.Examples, name))
			}
		})
	}
}

// mismatches returns what is found in a script that does not fit the schemas.
func mismatches(t *testing.T, registry *engines.Registry, name, script string) []Finding {
	t.Helper()
	common, err := txtar.ParseFile(filepath.Join("testdata", "seeded", "common.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	files := map[string]string{"src/" + name: script}
	for _, f := range common.Files {
		files[f.Name] = strings.ReplaceAll(string(f.Data), "SCRIPT", name)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(directory, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set, err := manifest.Load(t.Context(), manifest.Options{
		Filenames: []string{filepath.Join(directory, "crd.yaml"), filepath.Join(directory, "definition.yaml")},
		Scripts:   map[scripts.ObjectName]string{scripts.ConfigMapName("default", "hooks"): filepath.Join(directory, "src")},
	})
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), set, registry)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(result.Findings, func(f Finding) bool { return f.Severity != Error && f.Reason != reasonSchemaMismatch })
}
