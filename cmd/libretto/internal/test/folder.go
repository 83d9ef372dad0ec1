package test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test/explore"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/engines"
)

// Folder runs the tests of a folder for a command that shows the results otherwise.
type Folder struct {
	Process cli.Process
	Path    string
	Engines *engines.Registry
}

// Run runs all tests, calls report with each result, and returns what they reach in scripts.
func (f Folder) Run(ctx context.Context, report func(controllertest.Result)) (*coverage.Report, error) {
	t, found, err := f.begin()
	if err != nil {
		return nil, err
	}
	t.collector = &coverage.Collector{}
	options := t.suiteOptions(found)
	options.Report = report
	if _, err := suite.Run(ctx, options); err != nil {
		return nil, err
	}
	return t.collector.Report(), nil
}

// begin returns a run, and what it runs.
func (f Folder) begin() (*testRun, *suite.Found, error) {
	f.Process.Stderr = io.Discard // Warnings are those of libretto check.
	t := &testRun{Process: f.Process, testOptions: defaultOptions(), paths: []string{f.Path}}
	t.use(f.Engines)
	found, err := suite.Find(f.Engines, f.Path)
	return t, found, err
}

// Explore explores a case of a file of the folder, and returns the steps of a case that fails in the way that was found first, and the
// sentence about it. Both are empty if there is none.
func (f Folder) Explore(ctx context.Context, file, name string) (steps []explore.Step, failure string, err error) {
	t, found, err := f.begin()
	if err != nil {
		return nil, "", err
	}
	t.selects = regexp.MustCompile("^" + regexp.QuoteMeta(controllertest.Result{File: filepath.Join(f.Path, file), Name: name}.ID()) + "$")
	found.Functions = nil
	options, ran := t.suiteOptions(found), false
	options.Report = func(r controllertest.Result) {
		if ran = true; r.Outcome != controllertest.Passed {
			failure = Describe(r)
		}
	}
	(&explore.Explorer{}).AddTo(&options)
	exploring := options.RunCase
	options.RunCase = func(
		ctx context.Context, registry *engines.Registry, test *controllertest.ControllerTest, c *controllertest.Case,
		subject *controllertest.Subject,
	) controllertest.Result {
		result := exploring(ctx, registry, test, c, subject)
		for _, found := range result.Failures {
			if found.Case != "" && steps == nil {
				steps, err = explore.Steps(ctx, explore.Subject{Engines: registry, Test: test, Case: c, Subject: subject}, found.Case)
			}
		}
		return result
	}
	if _, failed := suite.Run(ctx, options); failed != nil || err != nil {
		return nil, "", errors.Join(failed, err)
	}
	if !ran {
		return nil, "", fmt.Errorf("%s has no case %q", file, name)
	}
	return steps, failure, nil
}

// Describe returns why a case did not pass, as lines.
func Describe(r controllertest.Result) string {
	var parts []string
	if r.Reason != "" {
		parts = append(parts, r.Reason)
	}
	for _, failure := range r.Failures {
		parts = append(parts, Options{}.plain(failure))
	}
	return strings.Join(parts, "\n\n")
}
