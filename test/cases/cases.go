// Package cases runs test files of controllers in tests of this project, as libretto test does.
package cases

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/functiontest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// Main runs the tests of a package whose cases test kustomizations: these are built by processes of the test binary.
func Main(m *testing.M) {
	kustomize.Main()
	os.Exit(m.Run())
}

// NewRegistry returns the engines, which run scripts in this process.
func NewRegistry(tb testing.TB) *engines.Registry {
	tb.Helper()
	registry, err := engines.NewRegistry(engines.Config{UserAgent: "test"}, standard.Definitions()...)
	if err != nil {
		tb.Fatal(err)
	}
	return registry
}

// Results are the results of cases. A test that has warnings may say something else than a cluster.
type Results struct {
	All      []controllertest.Result
	Warnings []string
}

// Run runs the cases below some paths.
func Run(ctx context.Context, registry *engines.Registry, paths ...string) (r Results, err error) {
	found, err := suite.Find(registry, paths...)
	if err != nil {
		return r, err
	}
	r.Warnings = found.Skipped
	_, err = suite.Run(ctx, suite.Options{
		Cases: found.Cases, Functions: found.Functions, Engines: registry, Parallel: runtime.GOMAXPROCS(0), Timeout: time.Minute,
		RunFunctions: func(ctx context.Context, file string) ([]controllertest.Result, error) {
			return functiontest.Run(ctx, registry, filepath.Dir(file), file, functiontest.Options{})
		},
		Warn:   func(text string) { r.Warnings = append(r.Warnings, text) },
		Report: func(result controllertest.Result) { r.All = append(r.All, result) },
	})
	return r, err
}

// MustPass runs the cases below some paths, and returns the results, all of which must pass.
func MustPass(t *testing.T, registry *engines.Registry, paths ...string) []controllertest.Result {
	t.Helper()
	r, err := Run(t.Context(), registry, paths...)
	if err != nil {
		t.Fatal(err)
	}
	r.MustPass(t)
	return r.All
}

// MustPass makes each case a test of its own. Warnings are failures.
func (r Results) MustPass(t *testing.T) {
	t.Helper()
	for _, warning := range r.Warnings {
		t.Error("warning: " + warning)
	}
	for _, result := range r.All {
		t.Run(result.Name, func(t *testing.T) {
			if result.Outcome != controllertest.Passed {
				t.Errorf("%s: %s %s\n%s", result.Location, result.Outcome, result.Reason, Describe(result))
			}
		})
	}
}

// Describe returns the failures of a result.
func Describe(result controllertest.Result) string {
	var b strings.Builder
	for _, f := range result.Failures {
		fmt.Fprintf(&b, "%s: %s %s\n", f.Location, f.Check, f.Message)
		for _, line := range f.Diff {
			fmt.Fprintf(&b, "    %s\n", line)
		}
	}
	return b.String()
}
