package explore

import (
	"context"
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/engines"
)

// RunCase runs a case as controllertest.RunCase does, and explores it if it passes.
func (o Options) RunCase(
	ctx context.Context, registry *engines.Registry, test *controllertest.ControllerTest, c *controllertest.Case, subject *controllertest.Subject,
) controllertest.Result {
	start := time.Now()
	result := controllertest.RunCase(ctx, registry, test, c, subject)
	if result.Outcome != controllertest.Passed {
		return result
	}
	report, err := Run(ctx, Subject{Engines: registry, Test: test, Case: c, Subject: subject}, o)
	if o.Explored != nil {
		o.Explored(result, report)
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
