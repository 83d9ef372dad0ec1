package scripts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

// errTestsLate is the cause of the end of tests that take too long.
var errTestsLate = fmt.Errorf("did not end within %s", testTimeout)

// outcome is the result of the tests of a text.
type outcome struct {
	report TestReport
	err    error
}

// test runs the tests of a text that compiled, if they must be run, and returns why it does not serve. It returns false if the sources
// have changed meanwhile: then there is no verdict.
func (t *Tree) test(ctx context.Context, d *moduleTree, r *Revision) ([]Problem, bool) {
	if !t.needsTests(ctx, d, r.ID) {
		t.tests.passed = ""
		return nil, true
	}
	if t.Current() == nil {
		if last := t.lastGood(ctx); last != nil {
			t.publish(ctx, last, State{Desired: r.ID, Testing: r.ID})
		}
	}
	began := time.Now()
	testing, span := tracing.Start(ctx, tracing.Test, trace.SpanKindInternal)
	o, finished := t.runTests(testing, d, r)
	result := resultOf(o, finished)
	span.SetAttributes(tracing.Outcome.String(result))
	span.End()
	t.library.Metrics.tested(t.spec.Definition, result, time.Since(began))
	t.logTests(r, o, result, time.Since(began))
	switch {
	case !finished:
		return nil, false
	case result == resultPassed:
		t.kept.verdicts.pass(d.text())
		t.tests.passed = o.report.summary()
		return nil, true
	}
	return o.problems(d), true
}

// logTests logs the result of tests.
func (t *Tree) logTests(r *Revision, o outcome, result string, took time.Duration) {
	values := []any{
		"definition", t.spec.Definition, "revision", r.ID.Short(), "result", result, "passed", o.report.Passed,
		"failures", len(o.report.Failures), "skipped", bounded(o.report.Skipped), "took", took.String(),
	}
	if o.err != nil {
		values = append(values, "reason", engines.Truncate(o.err.Error(), maxProblemText))
	}
	t.library.Log.V(verbosity.Decisions).Info("the tests of scripts have ended", values...)
}

// runTests runs the tests of a text until they end, or the sources hold another text.
func (t *Tree) runTests(ctx context.Context, d *moduleTree, r *Revision) (outcome, bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan outcome, 1)
	text := TestedText{Definition: t.spec.Object, Spec: t.spec, Files: d.files, Programs: r.Programs, TrustDomain: d.trustDomain}
	go func() { done <- t.library.runTests(ctx, text) }()
	slow := time.After(testingAfter)
	for {
		select {
		case o := <-done:
			return o, ctx.Err() == nil
		case <-slow:
			t.publish(ctx, t.Current(), t.testing(r.ID))
		case <-t.wake:
			if t.tests.again.Load() || !t.holds(r.content) {
				t.trigger()
				return outcome{}, false
			}
		case <-ctx.Done():
			return outcome{}, false
		}
	}
}

// holds reports whether the sources still hold a content.
func (t *Tree) holds(content fingerprint) bool {
	d := assemble(t.spec, t.read(), t.library.Engines)
	return !d.pending && len(d.problems) == 0 && fingerprintOf(d.files, t.hooks) == content
}

// SetTestInputs sets the version of what tests depend on besides the text, such as the schemas of objects. When it changes, tests
// that failed are run again, and tests that run begin again.
func (t *Tree) SetTestInputs(version string) {
	t.mu.Lock()
	changed := t.tests.inputs != "" && t.tests.inputs != version
	t.tests.inputs = version
	t.mu.Unlock()
	if changed {
		t.tests.again.Store(true)
		t.trigger()
	}
}

// TestsFailed reports whether tests are why Desired does not serve.
func (s State) TestsFailed() bool { return areTests(s.Problems) }

// areTests reports whether the problems are those of tests.
func areTests(problems []Problem) bool {
	return slices.ContainsFunc(problems, func(p Problem) bool { return p.Reason() == ReasonTestsFailed })
}

// testing returns the state while the tests of a revision run. What is known of earlier texts stays.
func (t *Tree) testing(id RevisionID) State {
	state := t.State()
	state.Desired, state.Testing, state.Held, state.LoadingSince = id, id, "", time.Time{} // Another one was held.
	return state
}

// runTests runs the tests of a text once there is a slot, for as long as tests may take. The slot is taken until the Tester returns.
func (l *Library) runTests(ctx context.Context, text TestedText) outcome {
	release, err := l.testSlots.Acquire(ctx, text.TrustDomain)
	if err != nil {
		return outcome{err: err}
	}
	ctx, cancel := engines.WithBudget(ctx, testTimeout, errTestsLate)
	defer cancel()
	done := make(chan outcome, 1)
	go func() {
		defer release()
		done <- l.testWaiting(ctx, text)
	}()
	select {
	case o := <-done:
		return o
	case <-ctx.Done():
	}
	select {
	case o := <-done:
		return o
	case <-time.After(testGrace):
		return outcome{err: context.Cause(ctx)}
	}
}

// testWaiting runs the tests, again while calls get no worker: each has waited for one, and that is no failure of the tests. A host that
// has none for so long is reported.
func (l *Library) testWaiting(ctx context.Context, text TestedText) outcome {
	for began := time.Now(); ; {
		o := testRecovering(ctx, l.Tester, text)
		if !errors.Is(o.err, engines.ErrNoWorker) || ctx.Err() != nil || time.Since(began) > maxTestWait {
			return o
		}
	}
}

// testRecovering turns a panic into a failure: a test must not stop the host. What did not end in time has failed, unless it could not
// be run.
func testRecovering(ctx context.Context, tester Tester, text TestedText) (o outcome) {
	defer func() {
		if cause := recover(); cause != nil {
			o = outcome{report: TestReport{Failures: []TestFailure{{Message: fmt.Sprintf("the tests panicked: %v", cause)}}}}
		}
		if o.err == nil && errors.Is(context.Cause(ctx), errTestsLate) {
			o.err = errTestsLate
		}
	}()
	o.report, o.err = tester.Test(ctx, text)
	return o
}

// Results of runs of tests, for the metric.
const (
	resultPassed   = "passed"
	resultFailed   = "failed"
	resultTimedOut = "timedOut"
	resultError    = "error"
	resultCanceled = "canceled"
)

func resultOf(o outcome, finished bool) string {
	switch {
	case !finished:
		return resultCanceled
	case errors.Is(o.err, errTestsLate):
		return resultTimedOut
	case len(o.report.Failures) > 0:
		return resultFailed
	case o.err != nil:
		return resultError
	default:
		return resultPassed
	}
}

// problems returns why the text does not serve.
func (o outcome) problems(d *moduleTree) []Problem {
	var problems []Problem
	for _, f := range o.report.Failures {
		err := &testError{location: f.Location, message: f.Message}
		problems = append(problems, Problem{Origin: d.originOfTest(f.Location.File), Err: err})
	}
	switch {
	case len(problems) > 0:
	case errors.Is(o.err, errTestsLate):
		problems = append(problems, Problem{Origin: d.originOfTest(""), Err: &testError{message: "the tests " + o.err.Error()}})
	default:
		problems = append(problems, Problem{Origin: d.originOfTest(""), Err: &testError{
			message: fmt.Sprintf("the tests could not be run: %v: it is tried again every %s", o.err, retryAfter), transient: true,
		}})
	}
	return problems
}

// originOfTest returns the origin of a file, or that of the first file of tests.
func (d *moduleTree) originOfTest(file string) Origin {
	if origin, ok := d.origins[file]; ok {
		return origin
	}
	first := ""
	for name, origin := range d.origins {
		if origin.Hook == "" && IsTest(d.engines, name) && (first == "" || name < first) {
			first = name
		}
	}
	return d.origins[first]
}

// summary returns the number of cases, and why some were not run.
func (r TestReport) summary() string {
	text := fmt.Sprintf("%d of its tests passed", r.Passed)
	if n := len(r.Skipped); n > 0 {
		text += fmt.Sprintf(", and %d were skipped: %s", n, strings.Join(bounded(r.Skipped), "; "))
	}
	return text
}

// bounded returns the first of many texts, each bounded.
func bounded(texts []string) []string {
	var short []string
	for _, text := range texts[:min(len(texts), maxProblems)] {
		short = append(short, engines.Truncate(text, maxProblemText/maxProblems))
	}
	return short
}
