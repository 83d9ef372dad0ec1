package coverage

import (
	"cmp"
	"maps"
	"slices"

	"github.com/libretto-k8s/libretto/engines"
)

// Report is the coverage of files, sorted by name.
type Report struct{ Files []File }

// File is the coverage of a file.
type File struct {
	Name string
	// Lines are those on which a statement begins, in order.
	Lines []Line
	// Decisions are in the order of the file.
	Decisions []Decision
}

// Line is a line and the number of calls of hooks that reached it.
type Line struct{ Number, Calls int }

// Decision is what decides between several outcomes, and the number of calls of hooks that came to each of them.
type Decision struct {
	Line, Column int
	// Kind is what decides, such as "if".
	Kind     string
	Outcomes []int
}

// Ratio is how much of something is covered.
type Ratio struct{ Covered, Total int }

// Percent returns the percentage: 100 of nothing.
func (r Ratio) Percent() float64 {
	if r.Total == 0 {
		return 100
	}
	return 100 * float64(r.Covered) / float64(r.Total)
}

func (r *Ratio) count(calls int) {
	r.Total++
	if calls > 0 {
		r.Covered++
	}
}

func (r Ratio) plus(other Ratio) Ratio {
	return Ratio{r.Covered + other.Covered, r.Total + other.Total}
}

// LineRatio returns how many of the lines are covered.
func (f File) LineRatio() (r Ratio) {
	for _, line := range f.Lines {
		r.count(line.Calls)
	}
	return r
}

// BranchRatio returns how many outcomes of decisions are covered.
func (f File) BranchRatio() (r Ratio) {
	for _, decision := range f.Decisions {
		for _, calls := range decision.Outcomes {
			r.count(calls)
		}
	}
	return r
}

// LineRatio returns how many lines of all files are covered.
func (r *Report) LineRatio() (sum Ratio) {
	for _, f := range r.Files {
		sum = sum.plus(f.LineRatio())
	}
	return sum
}

// BranchRatio returns how many outcomes in all files are covered.
func (r *Report) BranchRatio() (sum Ratio) {
	for _, f := range r.Files {
		sum = sum.plus(f.BranchRatio())
	}
	return sum
}

// Worst returns the file with the most lines that are not covered, and false if all are.
func (r *Report) Worst() (File, bool) {
	var worst File
	most := 0
	for _, f := range r.Files {
		if ratio := f.LineRatio(); ratio.Total-ratio.Covered > most {
			worst, most = f, ratio.Total-ratio.Covered
		}
	}
	return worst, most > 0
}

// merger adds up the points of programs, which have files in common.
type merger map[string]map[engines.CoveragePoint]int

func (m merger) add(p engines.CoveragePoint, calls int) {
	file := p.Location.File
	if m[file] == nil {
		m[file] = map[engines.CoveragePoint]int{}
	}
	m[file][p] += calls
}

func (m merger) report() *Report {
	r := &Report{}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		r.Files = append(r.Files, fileOf(name, m[name]))
	}
	return r
}

// fileOf returns the coverage of a file. A line is covered if one of its statements is.
func fileOf(name string, points map[engines.CoveragePoint]int) File {
	f := File{Name: name}
	lines, decisions := map[int]int{}, map[engines.CoveragePoint][]int{}
	for p, calls := range points {
		if p.Decision == "" {
			lines[p.Location.Line] = max(lines[p.Location.Line], calls)
			continue
		}
		decision := p
		decision.Outcome = 0
		for len(decisions[decision]) <= p.Outcome {
			decisions[decision] = append(decisions[decision], 0)
		}
		decisions[decision][p.Outcome] = calls
	}
	for _, number := range slices.Sorted(maps.Keys(lines)) {
		f.Lines = append(f.Lines, Line{number, lines[number]})
	}
	for p, outcomes := range decisions {
		f.Decisions = append(f.Decisions, Decision{p.Location.Line, p.Location.Column, p.Decision, outcomes})
	}
	slices.SortFunc(f.Decisions, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Kind, b.Kind))
	})
	return f
}

// State is how a line is covered.
type State string

// The states. A line is covered in part if it is reached, and some outcome of a decision in it never was.
const (
	Covered   State = "covered"
	Partial   State = "partial"
	Uncovered State = "uncovered"
)

// States returns how each line that counts is covered.
func (f File) States() map[int]State {
	states := map[int]State{}
	for _, line := range f.Lines {
		states[line.Number] = Covered
		if line.Calls == 0 {
			states[line.Number] = Uncovered
		}
	}
	for _, decision := range f.Decisions {
		if states[decision.Line] == Covered && slices.Contains(decision.Outcomes, 0) {
			states[decision.Line] = Partial
		}
	}
	return states
}
