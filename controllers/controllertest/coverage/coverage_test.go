package coverage

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

var errBoom = errors.New("boom")

// script is a program whose calls reach the points that their request names, and fail.
type script struct {
	engines.ProgramBase
	points []engines.CoveragePoint
}

func (s script) CoveragePoints() []engines.CoveragePoint { return s.points }

func (s script) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	c := engines.NewCoverage(len(s.points))
	for _, point := range call.Request["reach"].([]int) {
		c.Add(point)
	}
	return engines.Response{Coverage: c}, errBoom
}

func statement(file string, line, column int) engines.CoveragePoint {
	return engines.CoveragePoint{Location: engines.Location{File: file, Line: line, Column: column}}
}

func outcome(file string, line int, decision string, n int) engines.CoveragePoint {
	return engines.CoveragePoint{Location: engines.Location{File: file, Line: line, Column: 1}, Decision: decision, Outcome: n}
}

// collect returns the report of programs, each of which is called once and reaches some of its points.
func collect(t *testing.T, programs map[string]script, reach map[string][]int) *Report {
	t.Helper()
	c := &Collector{}
	given := map[string]engines.Program{"webhook": engines.Program(webhook{})}
	for hook, p := range programs {
		given[hook] = p
	}
	watched := c.Watch(given)
	for hook, points := range reach {
		if _, err := watched[hook].Run(t.Context(), engines.Call{Request: map[string]any{"reach": points}}); !errors.Is(err, errBoom) {
			t.Fatalf("error %v, want that of the program", err)
		}
	}
	return c.Report()
}

type webhook struct{ engines.ProgramBase }

func (webhook) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, nil
}

func example(t *testing.T) *Report {
	t.Helper()
	shared := []engines.CoveragePoint{
		statement("b.js", 1, 1), statement("./b.js", 3, 1), statement("b.js", 3, 9), outcome("b.js", 3, "if", 0), outcome("b.js", 3, "if", 1),
		statement("b.js", 5, 1), statement("b.js", 9, 1), statement("b.js", 12, 1), outcome("b.js", 9, "?:", 0), outcome("b.js", 9, "?:", 1),
	}
	return collect(t, map[string]script{
		"sync":     {points: shared},
		"finalize": {points: append([]engines.CoveragePoint{statement("a.js", 1, 1), statement("a.js", 2, 1)}, shared...)},
		"never":    {points: []engines.CoveragePoint{statement("c.js", 7, 1)}},
	}, map[string][]int{"sync": {0, 1, 3}, "finalize": {0, 1, 2}})
}

func TestReport(t *testing.T) {
	want := &Report{Files: []File{
		{Name: "a.js", Lines: []Line{{1, 1}, {2, 1}}},
		{Name: "b.js", Lines: []Line{{1, 2}, {3, 1}, {5, 0}, {9, 0}, {12, 0}},
			Decisions: []Decision{{3, 1, "if", []int{1, 0}}, {9, 1, "?:", []int{0, 0}}}},
		{Name: "c.js", Lines: []Line{{7, 0}}},
	}}
	got := example(t)
	if diff := cmp.Diff(want.Files, got.Files); diff != "" {
		t.Errorf("files of several programs (-want +got):\n%s", diff)
	}
	if worst, some := got.Worst(); worst.Name != "b.js" || !some {
		t.Errorf("the worst file is %s, %t", worst.Name, some)
	}
}

func TestWrite(t *testing.T) {
	for name, c := range map[string]struct {
		write func(*Report, *strings.Builder) error
		want  string
	}{
		"text": {func(r *Report, b *strings.Builder) error { return r.WriteText(b) }, `a.js       100.0% lines  -
b.js       40.0% lines   25.0% branches  5-12; branches in 3
c.js       0.0% lines    -               7
all files  50.0% lines   25.0% branches
`},
		"lcov": {func(r *Report, b *strings.Builder) error { return r.WriteLCOV(b) }, `TN:
SF:a.js
BRF:0
BRH:0
DA:1,1
DA:2,1
LF:2
LH:2
end_of_record
TN:
SF:b.js
BRDA:3,0,0,1
BRDA:3,0,1,0
BRDA:9,1,0,-
BRDA:9,1,1,-
BRF:4
BRH:1
DA:1,2
DA:3,1
DA:5,0
DA:9,0
DA:12,0
LF:5
LH:2
end_of_record
TN:
SF:c.js
BRF:0
BRH:0
DA:7,0
LF:1
LH:0
end_of_record
`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := c.write(example(t), &out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, out.String()); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothing(t *testing.T) {
	r := (&Collector{}).Report()
	var out strings.Builder
	if err := r.WriteText(&out); err != nil || !strings.Contains(out.String(), "no script was loaded") {
		t.Errorf("error %v, text %q", err, out.String())
	}
	if _, some := r.Worst(); some || r.LineRatio().Percent() != 100 {
		t.Error("something is missing of nothing")
	}
}
