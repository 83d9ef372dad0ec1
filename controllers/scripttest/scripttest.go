// Package scripttest runs the tests that come with scripts in a host, before a new text serves: the cases of files of kind
// ControllerTest on a cluster in memory, with the definition and the CustomResourceDefinitions of the real cluster.
//
// Authors of scripts are not trusted. Hooks run in the engines' workers, in the background; what the host itself does for a case is
// bounded in memory here, and in time by the caller. A case sees none of the cluster's objects, and calls no webhook.
package scripttest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/functiontest"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/scripts"
)

// Limits of cases. Those of files are in controllertest.ParseHosted.
const (
	// maxCaseBytes is the memory that one case may keep, about.
	maxCaseBytes = 64 << 20
	// maxFailed is how many cases may fail before the rest is left out.
	maxFailed = 20
)

// Runner runs tests. It is a scripts.Tester.
type Runner struct {
	// Client reads CustomResourceDefinitions.
	Client dynamic.Interface
	// Find returns a resource of the cluster by apiVersion and plural, or a *discovery.NotFoundError.
	Find func(apiVersion, resource string) (discovery.Resource, error)
	// Namespace is the host's own.
	Namespace string
	// Scripts has the engines of scripts, for cases that change their settings.
	Scripts *engines.Registry
	// Webhooks has the engine of webhooks, whose responses are in the cases. It must share nothing with the one that calls servers.
	Webhooks *engines.Registry
}

// errNoWorker is why tests could not be run to their end.
var errNoWorker = fmt.Errorf("the script workers were busy with calls: %w", engines.ErrNoWorker)

// Test runs all tests of a text.
func (r *Runner) Test(ctx context.Context, text scripts.TestedText) (scripts.TestReport, error) {
	run := &run{Runner: r, text: text}
	for _, file := range slices.Sorted(maps.Keys(text.Files)) {
		if !scripts.IsTest(r.Scripts, file) {
			continue
		}
		err := run.file(ctx, file)
		switch {
		case errors.Is(err, engines.ErrNoWorker), run.starved.Load() && len(run.report.Failures) > 0:
			return scripts.TestReport{}, errNoWorker
		case err != nil:
			return run.report, err
		}
		if run.isOver() {
			break
		}
	}
	return run.report, nil
}

// run is one run of all tests of a text.
type run struct {
	*Runner
	text scripts.TestedText
	// resources are those that are not built in, once they are read.
	resources []memcluster.Resource
	prepared  bool
	// starved reports whether a call was not made because no worker was free.
	starved atomic.Bool
	report  scripts.TestReport
	failed  int
	late    bool
}

func (r *run) failf(at engines.Location, format string, args ...any) {
	r.report.Failures = append(r.report.Failures, scripts.TestFailure{Location: at, Message: fmt.Sprintf(format, args...)})
}

func (r *run) skipf(name, format string, args ...any) {
	r.report.Skipped = append(r.report.Skipped, name+": "+fmt.Sprintf(format, args...))
}

// file runs the tests of a file. An error means that they could not be run.
func (r *run) file(ctx context.Context, file string) error {
	text := r.text.Files[file]
	if path.Ext(file) != path.Ext(controllertest.FileSuffix) {
		return r.functions(ctx, file, text)
	}
	parsed, problems := controllertest.ParseHosted(file, text)
	if parsed == nil && problems == nil {
		r.skipf(file, "it is no %s", controllertest.Kind)
		return nil
	}
	for _, problem := range problems[:min(len(problems), maxFailed)] {
		r.failf(problem.Location, "%s", problem.Message)
	}
	if r.failed += len(problems); parsed == nil {
		return nil
	}
	if err := r.prepare(ctx); err != nil {
		return err
	}
	subject := r.subject(file)
	for _, test := range parsed.Tests {
		for i := range test.Cases {
			if r.isOver() {
				return nil
			}
			r.runCase(ctx, test, &test.Cases[i], subject)
		}
	}
	return nil
}

// runCase runs a case, and adds its result to the report.
func (r *run) runCase(ctx context.Context, test *controllertest.ControllerTest, c *controllertest.Case, subject *controllertest.Subject) {
	if missing := r.missingFiles(test, c); len(missing) > 0 {
		r.skipf(fmt.Sprintf("%s: case %q", test.File, c.Name), "it needs %s, which is not among the scripts", strings.Join(missing, " and "))
		return
	}
	result := controllertest.RunCase(ctx, r.Webhooks, test, c, subject)
	switch {
	case ctx.Err() != nil:
		r.end(ctx, c.Location, fmt.Sprintf("case %q: ", c.Name))
	default:
		r.add(fmt.Sprintf("case %q", c.Name), result)
	}
}

// end notes that the time of all tests is over.
func (r *run) end(ctx context.Context, at engines.Location, name string) {
	r.late = true
	r.failf(at, "%s%v, which all tests have together", name, context.Cause(ctx))
}

// isOver reports whether no more tests are run.
func (r *run) isOver() bool { return r.late || r.failed >= maxFailed }

// functions runs the tests of functions in a file.
func (r *run) functions(ctx context.Context, file, text string) error {
	if problem := controllertest.CheckHostedSize(file, text); problem != nil {
		r.failed++
		r.failf(problem.Location, "%s", problem.Message)
		return nil
	}
	results, err := functiontest.RunFiles(ctx, r.Scripts, r.text.Files, file, functiontest.Options{
		Parallel: 1, Owner: r.text.Spec.Definition, TrustDomain: r.text.TrustDomain, Background: true,
	})
	switch {
	case errors.Is(err, engines.ErrNoWorker):
		return err
	case ctx.Err() != nil:
		r.end(ctx, engines.Location{File: file}, "")
		return nil
	}
	for _, result := range results {
		if r.failed < maxFailed {
			r.add(fmt.Sprintf("test %q", result.Name), result)
		}
	}
	return err
}

// add adds the result of a case or of a function's test.
func (r *run) add(name string, result controllertest.Result) {
	switch result.Outcome {
	case controllertest.Passed:
		r.report.Passed++
	case controllertest.Skipped:
		r.skipf(result.File+": "+name, "%s", result.Reason)
	default:
		r.failed++
		r.addFailures(name, result)
	}
}

// maxFailures is how many failures of one case are reported.
const maxFailures = 3

func (r *run) addFailures(name string, result controllertest.Result) {
	for _, failure := range result.Failures[:min(len(result.Failures), maxFailures)] {
		at := failure.Location
		if at.File == "" {
			at = result.Location
		}
		message, _, _ := strings.Cut(failure.Message, "\n")
		if place := failure.Script.String(); place != "" && !strings.Contains(message, place) {
			message += " (" + place + ")"
		}
		r.failf(at, "%s: %s", name, message)
	}
	if len(result.Failures) == 0 {
		r.failf(result.Location, "%s: %s", name, result.Outcome)
	}
}
