package explore

import (
	"context"
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
	"github.com/libretto-k8s/libretto/engines"
)

// Explorer explores cases one after another. Paths that one of a test has made are not made in the next ones again.
type Explorer struct {
	Options
	// Explored is called with the result of each case. It may be nil.
	Explored func(controllertest.Result, Report)

	made map[*controllertest.ControllerTest]map[uint64]bool
}

// timeoutFactor is how many times as long a case may take that is explored.
const timeoutFactor = 10

// AddTo makes a run explore its cases: one after another, each on all processors.
func (e *Explorer) AddTo(run *suite.Options) {
	e.Workers = run.Parallel
	run.RunCase, run.Parallel, run.Timeout = e.RunCase, 1, timeoutFactor*run.Timeout
}

// RunCase runs a case as controllertest.RunCase does, and explores it if it passes.
func (e *Explorer) RunCase(
	ctx context.Context, registry *engines.Registry, test *controllertest.ControllerTest, c *controllertest.Case,
	subject *controllertest.Subject,
) controllertest.Result {
	start := time.Now()
	result := controllertest.RunCase(ctx, registry, test, c, subject)
	if result.Outcome != controllertest.Passed {
		return result
	}
	if e.made[test] == nil {
		e.made = map[*controllertest.ControllerTest]map[uint64]bool{test: {}} // The cases of other tests have other subjects.
	}
	report, err := run(ctx, Subject{Engines: registry, Test: test, Case: c, Subject: subject}, e.Options, e.made[test])
	if e.Explored != nil {
		e.Explored(result, report)
	}
	result.Duration = time.Since(start)
	result.Failures = append(result.Failures, report.Failures...)
	if len(report.Failures) > 0 {
		result.Outcome = controllertest.Failed
	}
	if err != nil {
		result.Outcome = controllertest.Errored
		message := fmt.Sprintf("it could not be explored: %v", err)
		result.Failures = append(result.Failures, controllertest.Failure{Location: c.Location, Message: message})
	}
	return result
}
