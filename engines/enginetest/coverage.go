package enginetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/libretto-k8s/libretto/engines"
)

// Covered returns the suite with programs that count coverage: they must behave as the others do.
func Covered(s Suite) Suite {
	source := s.Source
	s.Source = func(t testing.TB, hook Hook) engines.Source { return WithCoverage(source(t, hook)) }
	return s
}

// WithCoverage returns a source whose program counts coverage.
func WithCoverage(src engines.Source) engines.Source {
	if src.Script != nil {
		script := *src.Script
		script.Coverage = true
		src.Script = &script
	}
	return src
}

// Points returns the points of a program that a call reached, and those that it did not: LINE:COLUMN of statements, and
// LINE:COLUMN DECISION OUTCOME. Places in other files than the entry begin with FILE and a colon.
func Points(program engines.Program, covered engines.Coverage, entry string) (reached, missed []string) {
	for i, p := range program.CoveragePoints() {
		text := fmt.Sprintf("%d:%d", p.Location.Line, p.Location.Column)
		if p.Location.File != entry {
			text = p.Location.String()
		}
		if p.Decision != "" {
			text += fmt.Sprintf(" %s %d", p.Decision, p.Outcome)
		}
		if covered.Has(i) {
			reached = append(reached, text)
		} else {
			missed = append(missed, text)
		}
	}
	return reached, missed
}

// sameWithCoverage checks that a script which counts coverage answers, or fails, as it does without.
func (c Caller) sameWithCoverage(
	t testing.TB, src engines.Source, request map[string]any, patience time.Duration, plain engines.Response, failure *engines.Error,
) {
	t.Helper()
	if src.Script == nil || src.Script.Coverage || failure != nil && failure.Kind == engines.Timeout {
		return
	}
	program, err := c.Compile(t, WithCoverage(src))
	if err != nil {
		t.Fatalf("compiling with coverage: %s", AsError(t, err).Detail())
	}
	response, got := c.run(t, program, request, patience)
	if failure == nil && len(program.CoveragePoints()) > 0 && response.Coverage == nil {
		t.Error("with coverage: the call counted none")
	}
	response.Coverage = nil
	if diff := cmp.Diff(plain, response, cmpopts.EquateNaNs()); diff != "" {
		t.Errorf("with coverage, the response is another one (-without +with):\n%s", diff)
	}
	sameError(t, failure, got)
}

// sameError checks that two errors have the same text, places and kind.
func sameError(t testing.TB, plain, covered *engines.Error) {
	t.Helper()
	if diff := cmp.Diff(plain, covered, cmpopts.IgnoreFields(engines.Error{}, "Err")); diff != "" {
		t.Errorf("with coverage, the error is another one (-without +with):\n%s", diff)
	}
	if plain != nil && errors.Is(plain, plain.Err) != errors.Is(covered, covered.Err) {
		t.Errorf("with coverage, the cause is %v, not %v", covered.Err, plain.Err)
	}
}

// Benchmark compiles a source once, and measures calls.
func Benchmark(b *testing.B, engine engines.Engine, src engines.Source, request map[string]any) {
	b.Helper()
	program, err := engine.Compile(b.Context(), src)
	if err != nil {
		b.Fatal(err)
	}
	call := engines.Call{Request: request, Now: time.Unix(0, 0)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := program.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCoverage measures calls of the StatefulSet's hook with and without coverage.
func BenchmarkCoverage(b *testing.B, caller Caller, plain engines.Source) {
	for _, replicas := range []int{3, 30} {
		for name, src := range map[string]engines.Source{"off": plain, "on": WithCoverage(plain)} {
			b.Run(fmt.Sprintf("replicas=%d/coverage=%s", replicas, name), func(b *testing.B) {
				Benchmark(b, caller.Start(b), src, StatefulSetRequest(replicas, replicas, replicas))
			})
		}
	}
}

// CheckNoCoverage checks that a program whose script asks for no coverage counts none.
func CheckNoCoverage(t *testing.T, program engines.Program) {
	t.Helper()
	response, err := program.Run(t.Context(), engines.Call{})
	if err != nil || response.Coverage != nil || program.CoveragePoints() != nil {
		t.Errorf("error %v, coverage %v of points %v, although the script asks for none", err, response.Coverage, program.CoveragePoints())
	}
}
