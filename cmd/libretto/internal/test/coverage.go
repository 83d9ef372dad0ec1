package test

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/controllertest/coverage"
)

// coverageOptions are the flags about coverage.
type coverageOptions struct {
	report  bool
	minimum float64
	lcov    string
}

func (o *coverageOptions) addTo(f *pflag.FlagSet) {
	f.BoolVar(&o.report, "coverage", o.report, "show which lines and branches of scripts the tests reach")
	f.Float64Var(&o.minimum, "coverage-min", o.minimum, "exit with 1 if fewer percent of the lines of all scripts are reached")
	f.StringVar(&o.lcov, "coverage-lcov", o.lcov, "file for the coverage as lcov and its like read it")
}

// isOn reports whether coverage is counted.
func (o *coverageOptions) isOn() bool { return o.report || o.minimum > 0 || o.lcov != "" }

// collector returns what collects coverage, or nil if it is not counted.
func (o *coverageOptions) collector() *coverage.Collector {
	if !o.isOn() {
		return nil
	}
	return &coverage.Collector{}
}

func (o *coverageOptions) check(watch bool) error {
	switch {
	case !(o.minimum >= 0 && o.minimum <= 100): // Also what is no number.
		return fmt.Errorf("--coverage-min %g: must be between 0 and 100", o.minimum)
	case watch && o.isOn():
		return errors.New("--watch runs only the tests that a change concerns, whose coverage says little: leave it or the flags of coverage out")
	}
	return nil
}

// write writes a report as text to out, and as --coverage-lcov says.
func (o *coverageOptions) write(out io.Writer, r *coverage.Report) error {
	if o.report {
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
		if err := r.WriteText(out); err != nil {
			return err
		}
	}
	if o.lcov == "" {
		return nil
	}
	f, err := os.Create(o.lcov)
	if err != nil {
		return fmt.Errorf("--coverage-lcov: %w", err)
	}
	return errors.Join(r.WriteLCOV(f), f.Close())
}

// enough returns an error of exit code 1 if fewer lines are covered than --coverage-min says.
func (o *coverageOptions) enough(r *coverage.Report) error {
	if len(r.Files) == 0 && o.minimum > 0 {
		return cli.ExitWith(cli.ExitProblems, fmt.Errorf("--coverage-min %g: no test ran a script", o.minimum))
	}
	got := r.LineRatio().Percent()
	if got >= o.minimum {
		return nil
	}
	worst, _ := r.Worst()
	lines := worst.LineRatio()
	return cli.ExitWith(cli.ExitProblems, fmt.Errorf(
		"%.1f%% of the lines of scripts are covered, less than --coverage-min %g: %s misses most, %d of %d lines",
		got, o.minimum, worst.Name, lines.Total-lines.Covered, lines.Total))
}
