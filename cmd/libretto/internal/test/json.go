package test

import (
	"io"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
	"github.com/libretto-k8s/libretto/engines"
)

// jsonReporter writes one document after the last result.
type jsonReporter struct {
	out     io.Writer
	results []JSONResult
}

// JSONReport is the document of --output json: its fields are described in docs/reference/reports.md.
type JSONReport struct {
	Passed          int          `json:"passed"`
	Failed          int          `json:"failed"`
	Errored         int          `json:"errored"`
	Skipped         int          `json:"skipped"`
	NotRun          int          `json:"notRun"`
	Seed            uint64       `json:"seed,omitempty"`
	DurationSeconds float64      `json:"durationSeconds"`
	Results         []JSONResult `json:"results"`
	// Coverage is absent unless --coverage is given.
	Coverage *coverage.Report `json:"coverage,omitempty"`
	// Benchmarks are absent unless --bench is given.
	Benchmarks []benchmark `json:"benchmarks,omitempty"`
}

// JSONResult is the result of a case.
type JSONResult struct {
	File            string                 `json:"file"`
	Name            string                 `json:"name"`
	Line            int                    `json:"line,omitempty"`
	Column          int                    `json:"column,omitempty"`
	Outcome         controllertest.Outcome `json:"outcome"`
	Reason          string                 `json:"reason,omitempty"`
	DurationSeconds float64                `json:"durationSeconds"`
	Failures        []JSONFailure          `json:"failures,omitempty"`
	Logs            []string               `json:"logs,omitempty"`
}

// JSONFailure is why a case did not pass.
type JSONFailure struct {
	jsonPlace
	Check   controllertest.Check `json:"check,omitempty"`
	Message string               `json:"message"`
	Diff    []string             `json:"diff,omitempty"`
	Case    string               `json:"case,omitempty"`
	Script  *jsonPlace           `json:"script,omitempty"`
}

type jsonPlace struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

func placeOf(at engines.Location) jsonPlace { return jsonPlace(at) }

// Report keeps a result.
func (j *jsonReporter) Report(r controllertest.Result) error {
	result := JSONResult{
		File: r.File, Name: r.Name, Line: r.Location.Line, Column: r.Location.Column, Outcome: r.Outcome, Reason: r.Reason,
		DurationSeconds: r.Duration.Seconds(), Logs: r.Logs,
	}
	for _, f := range r.Failures {
		failure := JSONFailure{jsonPlace: placeOf(f.Location), Check: f.Check, Message: f.Message, Diff: f.Diff, Case: f.Case}
		if f.Script.File != "" {
			script := placeOf(f.Script)
			failure.Script = &script
		}
		result.Failures = append(result.Failures, failure)
	}
	j.results = append(j.results, result)
	return nil
}

// Close writes the document.
func (j *jsonReporter) Close(s Summary) error {
	return cli.WriteJSON(j.out, JSONReport{
		Passed: s.Counts[controllertest.Passed], Failed: s.Counts[controllertest.Failed], Errored: s.Counts[controllertest.Errored],
		Skipped: s.Counts[controllertest.Skipped], NotRun: s.NotRun, Seed: s.Seed, DurationSeconds: s.Duration.Seconds(), Results: j.results,
		Coverage: s.Coverage, Benchmarks: s.Benchmarks,
	})
}
