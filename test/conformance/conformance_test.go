package conformance

import (
	"flag"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

var update = flag.Bool("update", false, "rewrite the expected part of the cases")

// TestConformance runs the cases in testdata.
func TestConformance(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{UserAgent: "conformance"}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	files := caseFiles(t)
	if len(files) == 0 {
		t.Fatal("there are no cases")
	}
	for _, file := range files {
		name, _ := strings.CutPrefix(strings.TrimSuffix(filepath.ToSlash(file), ".txtar"), "testdata/")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := readCase(file)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			runOnEngines(t, c, registry)
		})
	}
}

func caseFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("testdata", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".txtar") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// runOnEngines runs a case on each engine that has its hooks, and skips the others.
func runOnEngines(t *testing.T, c *testCase, registry *engines.Registry) {
	ran := 0
	for _, definition := range standard.Definitions() {
		t.Run(definition.Name, func(t *testing.T) {
			if missing := c.missing(definition); missing != "" {
				t.Skipf("not run: the case has no %s hook for this engine", missing)
			}
			ran++
			c.check(t, definition, registry)
		})
	}
	if ran == 0 && len(standard.Definitions()) > 0 && !t.Failed() {
		t.Logf("no engine of this host runs the case")
	}
}

// check runs a case on an engine and compares the outcomes. A known failure is skipped until it passes.
func (c *testCase) check(t *testing.T, definition engines.Definition, registry *engines.Registry) {
	got, err := c.run(t, definition, registry)
	if err != nil {
		t.Fatalf("%s\n%s: %v", c.comment, c.file, err)
	}
	if *update && c.knownFailure == "" && !c.rewritten {
		if err := c.rewrite(got); err != nil {
			t.Fatal(err)
		}
	}
	diff := c.diff(t, got)
	switch {
	case diff != "" && c.knownFailure != "":
		t.Skipf("known failure: %s\n%s", c.knownFailure, diff)
	case diff != "":
		t.Errorf("%s\n%s -expected +got:\n%s", c.comment, c.file, diff)
	case c.knownFailure != "":
		t.Errorf("%s: passes now: take the line known-failure out", c.file)
	}
}
