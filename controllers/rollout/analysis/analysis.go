// Package analysis makes the checks of a step of a rollout: expressions over parents and their children, queries of Prometheus, and Jobs.
// What that means for the step is decided in package rollout.
package analysis

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

const (
	// timeout bounds all checks of a step, and queryTimeout each query.
	timeout, queryTimeout = 30 * time.Second, 10 * time.Second
	// maxMessage bounds the message of a check, in bytes.
	maxMessage = 512
)

// Analyst makes checks. Several goroutines may use it.
type Analyst struct {
	// Client reads CronJobs, and reads and creates Jobs.
	Client dynamic.Interface
	// HTTP sends queries.
	HTTP  *http.Client
	Clock clock.PassiveClock
}

// Step is what is checked.
type Step struct {
	rollout.AnalysisRequest
	Checks []v1alpha1.ScriptAnalysis
	// Definition owns the Jobs, which are kept for JobsKept after they have ended.
	Definition *unstructured.Unstructured
	JobsKept   time.Duration
	// Parents are those that have the edit.
	Parents []Parent
}

// Parent is a parent and its children, which are read-only.
type Parent struct {
	// Name is its kind, namespace and name, for messages.
	Name     string
	Object   *unstructured.Unstructured
	Children []*unstructured.Unstructured
	// Before is how many children it had before the edit, or nil if that is not known.
	Before *int
}

// outcome is the result of one check.
type outcome struct {
	result  rollout.AnalysisResult
	message string
}

func passed() outcome { return outcome{result: rollout.AnalysisPassed} }

func failed(format string, args ...any) outcome {
	return outcome{rollout.AnalysisFailed, fmt.Sprintf(format, args...)}
}

func unknown(format string, args ...any) outcome {
	return outcome{rollout.AnalysisUnknown, "can't be evaluated: " + fmt.Sprintf(format, args...)}
}

// pending is of a check that is being made.
func pending(format string, args ...any) outcome {
	return outcome{rollout.AnalysisUnknown, fmt.Sprintf(format, args...)}
}

// Analyze makes the checks of a step. A failed one comes before an unknown one.
func (a *Analyst) Analyze(ctx context.Context, s Step) rollout.Analysis {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	all := rollout.Analysis{ID: s.ID, At: a.Clock.Now(), Result: rollout.AnalysisPassed}
	for n := range s.Checks {
		o := a.check(ctx, s, n)
		if o.result == rollout.AnalysisPassed || o.result == rollout.AnalysisUnknown && all.Result == rollout.AnalysisUnknown {
			continue
		}
		all.Result, all.Check, all.Message = o.result, place(s.Step, n), engines.Truncate(printable.Line(o.message), maxMessage)
		if o.result == rollout.AnalysisFailed {
			break
		}
	}
	return all
}

// place returns where a check is in a definition. Steps are counted from 1.
func place(step, n int) string {
	return fmt.Sprintf("spec.scriptRollout.steps[%d].analysis[%d]", step-1, n)
}

func (a *Analyst) check(ctx context.Context, s Step, n int) outcome {
	switch check := &s.Checks[n]; {
	case check.CEL != "":
		return checkParents(ctx, check.CEL, s.Parents)
	case check.Prometheus != nil:
		return a.query(ctx, check.Prometheus)
	case check.Job != nil:
		return a.runJob(ctx, s, n)
	default: // The schema refuses it. A host may be older than the definition.
		return unknown("it has none of cel, prometheus and job")
	}
}

// Validate returns what is wrong with the checks of a spec that the schema lets pass.
func Validate(spec *v1alpha1.ScriptRollout) error {
	if spec == nil {
		return nil
	}
	for step := range spec.Steps {
		for n, check := range spec.Steps[step].Analysis {
			field, err := "cel", error(nil)
			switch {
			case check.CEL != "":
				_, err = overParents.compile(check.CEL)
			case check.Prometheus != nil:
				field = "prometheus.successCondition"
				_, err = overResult.compile(check.Prometheus.SuccessCondition)
			}
			if err != nil {
				return fmt.Errorf("%s.%s: %w", place(step+1, n), field, err)
			}
		}
	}
	return nil
}
