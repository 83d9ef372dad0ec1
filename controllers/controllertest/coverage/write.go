package coverage

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// WriteText writes a line for each file: how much is covered, the lines that are not, and the lines whose decisions never had an outcome.
func (r *Report) WriteText(out io.Writer) error {
	if len(r.Files) == 0 {
		_, err := fmt.Fprintln(out, "no script was loaded: nothing is covered")
		return err
	}
	var aligned strings.Builder
	w := tabwriter.NewWriter(&aligned, 0, 0, 2, ' ', 0)
	for _, f := range r.Files {
		fmt.Fprintln(w, printable.Line(f.Name)+"\t"+percentages(f.LineRatio(), f.BranchRatio())+"\t"+f.missed())
	}
	if len(r.Files) > 1 {
		fmt.Fprintln(w, "all files\t"+percentages(r.LineRatio(), r.BranchRatio())+"\t")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(aligned.String()) {
		if _, err := fmt.Fprintln(out, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func percentages(lines, branches Ratio) string {
	text := "-"
	if branches.Total > 0 {
		text = fmt.Sprintf("%.1f%% branches", branches.Percent())
	}
	return fmt.Sprintf("%.1f%% lines\t%s", lines.Percent(), text)
}

// missed returns the lines that are not covered, like 12-14, 20, and those that are, but not all outcomes of their decisions.
func (f File) missed() string {
	var parts []string
	first, last := 0, 0
	end := func() {
		switch first {
		case 0:
		case last:
			parts = append(parts, fmt.Sprint(first))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", first, last))
		}
		first = 0
	}
	states, partial := f.States(), []string{}
	for _, line := range f.Lines {
		if states[line.Number] == Partial {
			partial = append(partial, fmt.Sprint(line.Number))
		}
		if line.Calls > 0 {
			end()
			continue
		}
		if first == 0 {
			first = line.Number
		}
		last = line.Number
	}
	end()
	text := strings.Join(parts, ", ")
	if len(partial) > 0 {
		text = strings.TrimPrefix(text+"; branches in "+strings.Join(partial, ", "), "; ")
	}
	return text
}

// WriteLCOV writes the format of lcov's .info files, as geninfo(1) describes it. Counts are of calls of hooks.
func (r *Report) WriteLCOV(out io.Writer) error {
	w := bufio.NewWriter(out)
	for _, f := range r.Files {
		fmt.Fprintf(w, "TN:\nSF:%s\n", f.Name)
		for block, decision := range f.Decisions {
			writeBranches(w, block, decision)
		}
		branches, lines := f.BranchRatio(), f.LineRatio()
		fmt.Fprintf(w, "BRF:%d\nBRH:%d\n", branches.Total, branches.Covered)
		for _, line := range f.Lines {
			fmt.Fprintf(w, "DA:%d,%d\n", line.Number, line.Calls)
		}
		fmt.Fprintf(w, "LF:%d\nLH:%d\nend_of_record\n", lines.Total, lines.Covered)
	}
	return w.Flush()
}

// writeBranches writes the outcomes of a decision. A dash stands for those of one that was never made.
func writeBranches(w io.Writer, block int, d Decision) {
	made := 0
	for _, calls := range d.Outcomes {
		made += calls
	}
	for branch, calls := range d.Outcomes {
		taken := "-"
		if made > 0 {
			taken = fmt.Sprint(calls)
		}
		fmt.Fprintf(w, "BRDA:%d,%d,%d,%s\n", d.Line, block, branch, taken)
	}
}
