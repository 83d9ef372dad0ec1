package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/libretto-k8s/libretto/test/steps"
)

// print prints a table for each phase.
func (r *results) print(out *steps.Report) error {
	var text strings.Builder
	if err := r.write(&text); err != nil {
		return err
	}
	out.Answer(text.String())
	if r.output != "" {
		out.OKf("written to %s", r.output)
	}
	return nil
}

func (r *results) write(text *strings.Builder) error {
	for _, phase := range append([]string{phaseBase}, phaseNames...) {
		rows := r.rows(phase)
		if rows == nil {
			continue
		}
		table := tabwriter.NewWriter(text, 0, 8, 2, ' ', 0)
		fmt.Fprintf(table, "\n%s\twall\t\tCPU\t\tpeak\t\tAPI server\thook calls\trequests\n", phase)
		for _, row := range rows {
			fmt.Fprintf(table, "  %s\n", strings.Join(row, "\t"))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// median returns what a phase cost a subject.
func (r *results) median(subject, phase string) (measurement, bool) {
	for _, s := range r.Subjects {
		at := slices.IndexFunc(s.Median, func(m measurement) bool { return m.Phase == phase })
		if s.Name == subject && at >= 0 {
			return s.Median[at], true
		}
	}
	return measurement{}, false
}

// rows returns a row for each subject: its figures, and beside wall how many times the first one's it is, beside CPU what a parent
// cost or, of idle, the share of a processor, and beside the peak how much more it is than before there were objects, for each of them.
// With another libretto to compare with, the last row is how many times that one's each figure is.
func (r *results) rows(phase string) [][]string {
	var rows [][]string
	var first measurement
	for _, s := range r.Subjects {
		m, found := r.median(s.Name, phase)
		if !found {
			continue
		}
		if rows == nil {
			first = m
		}
		cpu := fmt.Sprintf("%.2f ms/parent", 1000*m.cpu()/float64(r.parents))
		wall, memory := ratio(m.Wall, first.Wall), ""
		if base, found := r.median(s.Name, phaseBase); found {
			memory = fmt.Sprintf("%+.1f KB/object", (m.peak()-base.peak())/1000/float64(r.objects))
		}
		switch phase {
		case phaseBase:
			wall, cpu, memory = "", "", ""
		case phaseIdle:
			wall, cpu = "", fmt.Sprintf("%.2f %%", 100*m.cpu()/m.Wall)
		}
		rows = append(rows, []string{
			s.Name, fmt.Sprintf("%.2f s", m.Wall), wall, m.cpuText(), cpu, m.peakText(), memory,
			fmt.Sprintf("%.1f s", m.ServerCPU), fmt.Sprint(m.HookCalls), m.requestText(),
		})
	}
	this, found := r.median(librettoName, phase)
	other, compared := r.median(comparedName, phase)
	if found && compared && phase != phaseBase {
		rows = append(rows, []string{
			librettoName + "/" + comparedName, ratio(this.Wall, other.Wall), "", ratio(this.cpu(), other.cpu()), "",
			ratio(this.peak(), other.peak()), "", ratio(this.ServerCPU, other.ServerCPU),
			ratio(float64(this.HookCalls), float64(other.HookCalls)), ratio(this.made(), other.made()) + " in all",
		})
	}
	return rows
}

// ratio returns how many times y it is.
func ratio(x, y float64) string {
	if y == 0 {
		return "-"
	}
	return fmt.Sprintf("x%.2f", x/y)
}
