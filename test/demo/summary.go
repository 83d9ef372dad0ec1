package main

import (
	"fmt"
	"time"
)

// readOn is where the reader goes from here.
var readOn = [][2]string{
	{"examples/catset/README.md", "the example that you have just seen"},
	{"examples/hello/README.md", "a smaller one, to begin with"},
	{"docs/reference/api.md", "every field of a definition"},
}

// titleWidth is that of the table's column of titles.
const titleWidth = 32

// summary is a table of the steps, and whether all came true.
func (r *report) summary(played []outcome, steps []step, ended error) {
	r.line("\n%s", r.style.bold("Summary"))
	failed := ended != nil
	for i, s := range steps {
		result, took := "not reached", ""
		if i < len(played) {
			result, took = r.style.good("ok"), duration(played[i].took)
			if played[i].err != nil {
				result, failed = r.style.bad("FAILED"), true
			}
		}
		r.line("  %2d  %-*s %8s  %s", i+1, titleWidth, s.title, took, result)
	}
	r.line("      %-*s %8s", titleWidth, "in all", duration(time.Since(r.begin)))
	if failed {
		r.line("\nNot every step came true: see FAILED above.")
		return
	}
	r.line("\nEvery step came true. Read on:")
	for _, entry := range readOn {
		r.line("  %-26s %s", entry[0], entry[1])
	}
}

// duration is short and of the precision that matters: 31 ms, 0.4 s, 12.3 s, 120 s.
func duration(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
