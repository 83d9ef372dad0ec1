package explore

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

func newRegistry(tb testing.TB) *engines.Registry {
	tb.Helper()
	registry, err := engines.NewRegistry(engines.Config{UserAgent: "explore"}, standard.Definitions()...)
	if err != nil {
		tb.Fatal(err)
	}
	return registry
}

// runFile runs a test file. With explore its cases are explored.
func runFile(tb testing.TB, file string, explore *Explorer) []controllertest.Result {
	tb.Helper()
	var results []controllertest.Result
	options := suite.Options{
		Cases: []string{file}, Engines: newRegistry(tb), Parallel: 1, Timeout: 5 * time.Minute,
		Warn: func(text string) { tb.Log(text) }, Report: func(r controllertest.Result) { results = append(results, r) },
	}
	if explore != nil {
		options.RunCase = explore.RunCase
	}
	if _, err := suite.Run(tb.Context(), options); err != nil {
		tb.Fatal(err)
	}
	if len(results) == 0 {
		tb.Fatalf("%s: no results", file)
	}
	return results
}

// describe logs a failed result as a user sees it.
func describe(tb testing.TB, r controllertest.Result) {
	tb.Helper()
	for _, f := range r.Failures {
		tb.Logf("%s: %s: %s", r.Name, f.Check, f.Message)
		for _, line := range f.Diff {
			tb.Log(line)
		}
		tb.Log("\n" + f.Case)
	}
}

// TestExamples explores the examples a little: nothing is to be found. LIBRETTO_EXPLORE_PATHS makes it more.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob("../../../examples/*/*_test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	paths := 20
	if text := os.Getenv("LIBRETTO_EXPLORE_PATHS"); text != "" {
		if paths, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			explorer := &Explorer{Options: Options{Seed: 1, Paths: paths}, Explored: func(r controllertest.Result, report Report) {
				t.Logf("%s: %d states, %d paths, %d left %s", r.Name, report.States, report.Paths, report.Left, report.Skipped)
			}}
			for _, r := range runFile(t, file, explorer) {
				t.Logf("%s: %s", r.Name, r.Duration)
				if r.Outcome != controllertest.Passed {
					t.Errorf("%s: %s", r.Name, r.Outcome)
					describe(t, r)
				}
			}
		})
	}
}
