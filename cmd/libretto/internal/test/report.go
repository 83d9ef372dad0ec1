// Package test implements libretto test: it runs tests, once or as files change, and writes the results for people and for programs.
package test

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
	"github.com/libretto-k8s/libretto/controllers/controllertest/suite"
)

// Reporter writes results.
type Reporter interface {
	// Report is called with each result, in the order in which they are to be shown. An error means that nothing can be written.
	Report(controllertest.Result) error
	// Close is called once, after the last result.
	Close(Summary) error
}

// Summary is about a whole run.
type Summary struct {
	suite.Summary
	// Seed is the seed of the order, or 0.
	Seed     uint64
	Duration time.Duration
	// Slowest are the slowest results, if they are asked for.
	Slowest []controllertest.Result
	// Coverage is what the cases reached in scripts, or nil if that was not counted.
	Coverage *coverage.Report
	// Benchmarks are what calls cost, if that was measured.
	Benchmarks []benchmark
}

// String returns the counts and the time.
func (s Summary) String() string {
	var parts []string
	for _, outcome := range []controllertest.Outcome{
		controllertest.Failed, controllertest.Errored, controllertest.Skipped, controllertest.Passed,
	} {
		if n := s.Counts[outcome]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, outcome))
		}
	}
	if s.NotRun > 0 {
		parts = append(parts, fmt.Sprintf("%d not run", s.NotRun))
	}
	cases := "cases"
	if s.Total()+s.NotRun == 1 {
		cases = "case"
	}
	text := fmt.Sprintf("%d %s", s.Total()+s.NotRun, cases)
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text + " in " + seconds(s.Duration)
}

// seconds returns a duration as people read it.
func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Formats are the formats that New knows.
var Formats = []string{"text", "json", "junit", "github"}

// Options are how to write.
type Options struct {
	// Colour is for text on a terminal.
	Colour bool
	// Verbose shows cases that pass, and the lines that their hooks logged.
	Verbose bool
	// Line returns a line of a file, or an empty text if it can't be read.
	Line func(file string, line int) string
	// Rerun returns the command that runs one case alone.
	Rerun func(controllertest.Result) string
}

// New returns the reporter of a format.
func New(format string, out io.Writer, options Options) (Reporter, error) {
	switch format {
	case "text":
		return &text{Options: options, out: out, shown: map[string]bool{}}, nil
	case "json":
		return &jsonReporter{out: out, results: []JSONResult{}}, nil
	case "junit":
		return &junit{Options: options, out: out, suites: map[string]*junitSuite{}}, nil
	case "github":
		return &github{Options: options, out: out, shown: map[string]bool{}}, nil
	default:
		return nil, fmt.Errorf("no format %q: there are %s", format, strings.Join(Formats, ", "))
	}
}

// message returns the sentence of a failure, with the check that it is from.
func message(f controllertest.Failure) string {
	if f.Check != "" {
		return fmt.Sprintf("%s: %s", f.Check, f.Message)
	}
	return f.Message
}

// failingCase is the heading of the case of a failure.
const failingCase = "a case that fails in the same way:"

// plain returns a failure as lines without colour: the sentence with its place, the difference and the line of the script.
func (o Options) plain(f controllertest.Failure) string {
	lines := []string{message(f)}
	if at := f.Location.String(); at != "" {
		lines[0] = at + ": " + lines[0]
	}
	lines = append(lines, f.Diff...)
	if f.Case != "" {
		lines = append(lines, failingCase)
		lines = append(lines, strings.Split(strings.TrimSpace(f.Case), "\n")...)
	}
	if at := f.Script.String(); at != "" {
		lines = append(lines, "at "+at)
		if source := o.source(f); source != "" {
			lines = append(lines, "  "+source)
		}
	}
	return strings.Join(lines, "\n")
}

// source returns the line of the script that a failure is about, or an empty text.
func (o Options) source(f controllertest.Failure) string {
	if o.Line == nil || f.Script.Line == 0 {
		return ""
	}
	return strings.TrimSpace(o.Line(f.Script.File, f.Script.Line))
}

// sameError returns a key that is equal for results that could not be run for the same reason.
func sameError(r controllertest.Result) string {
	if r.Outcome != controllertest.Errored {
		return ""
	}
	return fmt.Sprintf("%+v", r.Failures)
}
