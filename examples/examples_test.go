// Package examples_test runs the tests of the examples.
package examples_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/cases"
)

// TestExamples runs what `libretto test examples/...` runs. Each example has tests, and its README says how to run them.
func TestExamples(t *testing.T) {
	registry := cases.NewRegistry(t)
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		name := entry.Name()
		t.Run(name, func(t *testing.T) {
			if len(cases.MustPass(t, registry, name)) == 0 {
				t.Errorf("examples/%s has no tests", name)
			}
			readme, err := os.ReadFile(filepath.Join(name, "README.md"))
			if err != nil {
				t.Fatal(err)
			}
			if command := "libretto test examples/" + name; !strings.Contains(string(readme), command) {
				t.Errorf("examples/%s/README.md does not say how to run the tests: %s", name, command)
			}
		})
	}
}
