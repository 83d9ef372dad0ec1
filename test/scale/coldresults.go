package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/libretto-k8s/libretto/test/steps"
)

// coldMeasurement is what it took until all definitions were Ready and their parents synced. Wall is that time in seconds, or the limit.
type coldMeasurement struct {
	measurement
	Done       int     `json:"done"`       // How many were done in the end.
	Half       float64 `json:"half"`       // Until half of them were, in seconds.
	DoneLifted int     `json:"doneLifted"` // How many were done when the limit of processors was lifted, if it was.
	Lifted     float64 `json:"lifted"`     // How long after that all were done, in seconds.

	Started   int            `json:"started"` // Workers.
	Ended     map[string]int `json:"ended"`   // Workers, by reason.
	TimedOut  int            `json:"timedOut"`
	Questions int            `json:"questions"` // Calls and loads of scripts.
}

// setTimes sets the times of a measurement of which that many are to be done.
func (m *coldMeasurement) setTimes(done []time.Time, began, lifted time.Time, wanted int) {
	m.Done = len(done)
	m.Wall = time.Since(began).Seconds()
	if m.Done == wanted {
		m.Wall = done[wanted-1].Sub(began).Seconds()
	}
	if half := (wanted+1)/2 - 1; m.Done > half {
		m.Half = done[half].Sub(began).Seconds()
	}
	if lifted.IsZero() {
		return
	}
	m.DoneLifted = sort.Search(m.Done, func(i int) bool { return done[i].After(lifted) })
	m.Lifted = m.Wall - lifted.Sub(began).Seconds()
}

// readMetrics reads what only the host can tell.
func (m *coldMeasurement) readMetrics(ctx context.Context, h *host) error {
	metrics, err := h.metrics(ctx)
	if err != nil {
		return err
	}
	m.Ended = map[string]int{}
	for _, sample := range metrics["libretto_script_worker_ends_total"].GetMetric() {
		if n := int(sample.GetCounter().GetValue()); n > 0 {
			m.Ended[sample.GetLabel()[0].GetValue()] = n
		}
	}
	m.Started = int(metrics.Sum("libretto_script_workers", nil) + metrics.Sum("libretto_script_worker_ends_total", nil))
	m.Questions = int(metrics.Sum("libretto_script_duration_seconds", nil))
	m.TimedOut = int(metrics.Sum("libretto_script_duration_seconds", map[string]string{"result": "HookTimedOut"}))
	return nil
}

// endedText returns how many workers ended, by reason.
func (m coldMeasurement) endedText() string {
	var texts []string
	for _, reason := range slices.Sorted(maps.Keys(m.Ended)) {
		texts = append(texts, fmt.Sprintf("%d %s", m.Ended[reason], reason))
	}
	if texts == nil {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// doneText returns when all were done.
func (m coldMeasurement) doneText(wanted int) string {
	text := fmt.Sprintf("%.1f s", m.Wall)
	if m.Done < wanted {
		text = fmt.Sprintf("%d of %d after %s", m.Done, wanted, text)
	}
	if m.Lifted > 0 {
		text += fmt.Sprintf(": %d within the limit, all %.1f s after it was lifted", m.DoneLifted, m.Lifted)
	}
	return text
}

func (m coldMeasurement) text(wanted int) string {
	return fmt.Sprintf("%s, half %.1f s, CPU %s, peak %s, %d workers started, %d loads and calls, %d timed out; ended: %s",
		m.doneText(wanted), m.Half, m.cpuText(), m.peakText(), m.Started, m.Questions, m.TimedOut, m.endedText())
}

// coldResults are all measurements.
type coldResults struct {
	Settings map[string]any       `json:"settings"`
	Subjects []*coldSubjectResult `json:"subjects"`

	wanted int
	output string
	log    string // Of the host that was measured last.
}

type coldSubjectResult struct {
	Name    string            `json:"name"`
	Command []string          `json:"command"`
	Runs    []coldMeasurement `json:"runs"`
}

func newColdResults(o *options, subjects []subject) *coldResults {
	r := &coldResults{
		Settings: map[string]any{"definitions": o.cold.definitions, "cpus": o.cold.cpus, "liftAfterSeconds": o.cold.liftAfter.Seconds(), "engine": o.engine},
		wanted:   o.cold.definitions, output: o.output,
	}
	for _, s := range subjects {
		r.Subjects = append(r.Subjects, &coldSubjectResult{Name: s.name, Command: s.args})
	}
	return r
}

// add adds a measurement of a subject, and writes what there is so far.
func (r *coldResults) add(subject int, m coldMeasurement) error {
	r.Subjects[subject].Runs = append(r.Subjects[subject].Runs, m)
	if r.output == "" {
		return nil
	}
	content, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(r.output, append(content, '\n'), 0o644)
}

// print prints a row for each subject, with how many times the first one's wall and CPU it takes.
func (r *coldResults) print(out *steps.Report) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 8, 2, ' ', 0)
	fmt.Fprintln(table, "\tall ready\t\thalf\tCPU\t\tpeak\tworkers started\tloads and calls\ttimed out\tended")
	first := coldMedian(r.Subjects[0].Runs)
	for _, s := range r.Subjects {
		m := coldMedian(s.Runs)
		fmt.Fprintln(table, strings.Join([]string{
			s.Name, m.doneText(r.wanted), ratio(m.Wall, first.Wall), fmt.Sprintf("%.1f s", m.Half), m.cpuText(), ratio(m.cpu(), first.cpu()),
			m.peakText(), fmt.Sprint(m.Started), fmt.Sprint(m.Questions), fmt.Sprint(m.TimedOut), m.endedText(),
		}, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	out.Answer(text.String())
	if r.output != "" {
		out.OKf("written to %s", r.output)
	}
	return nil
}

// coldMedian returns the median of each number by itself.
func coldMedian(of []coldMeasurement) coldMeasurement {
	whole := func(get func(coldMeasurement) int) int {
		return int(median(of, func(m coldMeasurement) float64 { return float64(get(m)) }))
	}
	var all []measurement
	reasons := map[string]bool{}
	for _, m := range of {
		all = append(all, m.measurement)
		for reason := range m.Ended {
			reasons[reason] = true
		}
	}
	m := coldMeasurement{
		measurement: medianOf("", all),
		Done:        whole(func(m coldMeasurement) int { return m.Done }),
		Half:        median(of, func(m coldMeasurement) float64 { return m.Half }),
		DoneLifted:  whole(func(m coldMeasurement) int { return m.DoneLifted }),
		Lifted:      median(of, func(m coldMeasurement) float64 { return m.Lifted }),
		Started:     whole(func(m coldMeasurement) int { return m.Started }),
		Questions:   whole(func(m coldMeasurement) int { return m.Questions }),
		TimedOut:    whole(func(m coldMeasurement) int { return m.TimedOut }),
		Ended:       map[string]int{},
	}
	for reason := range reasons {
		m.Ended[reason] = whole(func(m coldMeasurement) int { return m.Ended[reason] })
	}
	return m
}
