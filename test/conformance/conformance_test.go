package conformance

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
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
	subject, err := c.subject(t, definition, registry)
	if err != nil {
		t.Fatalf("%s\n%s: %v", c.comment, c.file, err)
	}
	if *update && c.knownFailure == "" && !c.rewritten {
		subject.WriteFile = c.rewrite
		c.rewritten = true
	}
	run := c.test.Cases[0]
	run.KnownFailure = c.knownFailure
	result := controllertest.RunCase(t.Context(), registry, c.test, &run, subject)
	var text strings.Builder
	for _, failure := range result.Failures {
		fmt.Fprintf(&text, "%s\n%s\n", failure.Message, strings.Join(failure.Diff, "\n"))
	}
	switch result.Outcome {
	case controllertest.Passed:
	case controllertest.Skipped:
		t.Skipf("%s\n%s", result.Reason, text.String())
	default:
		t.Errorf("%s\n%s is %s:\n%s", c.comment, c.file, result.Outcome, text.String())
	}
}

// subject returns the definition of a case with its hooks on an engine.
func (c *testCase) subject(t *testing.T, definition engines.Definition, registry *engines.Registry) (*controllertest.Subject, error) {
	object := c.definition.DeepCopy()
	programs, err := c.programs(t, definition, registry, object)
	if err != nil {
		return nil, err
	}
	return &controllertest.Subject{
		// Built-in resources have no schemas here: cases have few of the fields that these require.
		Definition: object, Programs: programs, Resources: append(memcluster.BuiltIn(), c.resources.list...),
		ReadFile: func(name string) ([]byte, error) { return []byte(c.part(name)), nil },
	}, nil
}

// rewrite writes the outcomes into the case's file.
func (c *testCase) rewrite(name string, text []byte) error {
	i := slices.IndexFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		i = len(c.archive.Files)
		c.archive.Files = append(c.archive.Files, txtar.File{Name: name})
	}
	if string(c.archive.Files[i].Data) == string(text) {
		return nil
	}
	c.archive.Files[i].Data = text
	return os.WriteFile(c.file, txtar.Format(c.archive), 0o644)
}
