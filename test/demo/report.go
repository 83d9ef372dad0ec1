package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// logTail is the number of log lines that a failure prints.
const logTail = 30

// report prints the demo as plain text. Colours and the progress line are only for terminals.
type report struct {
	out      io.Writer
	terminal bool
	style    style
	begin    time.Time
}

func newReport(env environment) *report {
	return &report{out: env.stdout, terminal: env.terminal, style: style(env.colour), begin: time.Now()}
}

// print prints. It ignores errors, as SIGPIPE ends the demo.
func (r *report) print(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

func (r *report) line(format string, args ...any) { r.print(format+"\n", args...) }

func (r *report) title(text string) { r.line("%s", r.style.bold(text)) }

func (r *report) heading(number, of int, s step) {
	r.section(fmt.Sprintf("[%d/%d] %s", number, of, s.title), s.why)
}

func (r *report) section(title, why string) {
	r.line("\n%s", r.style.bold(title))
	r.info(why)
}

func (r *report) info(text string) { r.line("    %s", text) }

// command prints a command before it runs.
func (r *report) command(line string) { r.line("  %s", r.style.command("$ "+line)) }

// answer prints the output of a command.
func (r *report) answer(text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		r.line("%s", strings.TrimRight("    "+line, " "))
	}
}

func (r *report) diff(lines []diffLine) {
	for _, line := range lines {
		switch line.sign {
		case '-':
			r.line("%s", r.style.bad("    - "+line.text))
		case '+':
			r.line("%s", r.style.good("    + "+line.text))
		default:
			r.info(line.text)
		}
	}
}

// ok prints an expectation that was met.
func (r *report) ok(format string, args ...any) {
	r.line("  %s  "+format, append([]any{r.style.good("ok")}, args...)...)
}

// timings prints the times from the change of the ConfigMap.
func (r *report) timings(timings []timing) {
	for _, t := range timings {
		r.ok("%s after the ConfigMap changed: %s", duration(t.took), t.what)
	}
}

// failure prints an error and the end of libretto's log.
func (r *report) failure(err error, log string) {
	r.line("  %s  %v", r.style.bad("FAILED"), err)
	if log == "" {
		return
	}
	r.line("\nThe last lines of libretto's log:")
	r.answer(tail(log, logTail))
}

func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// interrupted prints the last line of a demo that got a signal.
func (r *report) interrupted(err error) {
	r.line("\ninterrupted after %s", duration(time.Since(r.begin)))
	if err != nil {
		r.line("  %v", err)
	}
}

// style adds colours if it is true.
type style bool

func (s style) bold(text string) string    { return s.wrap("1", text) }
func (s style) good(text string) string    { return s.wrap("32", text) }
func (s style) bad(text string) string     { return s.wrap("31", text) }
func (s style) command(text string) string { return s.wrap("36", text) }

func (s style) wrap(code, text string) string {
	if !s {
		return text
	}
	return "\033[" + code + "m" + text + "\033[0m"
}

// Intervals of progress lines. On a terminal each overwrites the last one.
const (
	terminalTick = 200 * time.Millisecond
	logTick      = 5 * time.Second
)

// withProgress runs a task and prints its progress. The task must not print.
func (r *report) withProgress(what string, task func() error) error {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		r.progress(what, stop)
	}()
	err := task()
	close(stop)
	<-stopped
	return err
}

// progress prints the elapsed time until stop is closed.
func (r *report) progress(what string, stop <-chan struct{}) {
	tick, format, last := logTick, "  ... %s (%s)\n", ""
	if r.terminal {
		// It is truncated, as a wrapped line can't be overwritten.
		tick, format, last = terminalTick, "\r\033[K  ... %.60s (%s)", "\r\033[K"
	}
	begin := time.Now()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for shown := false; ; shown = true {
		select {
		case <-ticker.C:
			r.print(format, what, duration(time.Since(begin)))
		case <-stop:
			if shown {
				r.print("%s", last)
			}
			return
		}
	}
}

// nextReading are files for the reader to continue with.
var nextReading = [][2]string{
	{"examples/catset/README.md", "the example that you have just seen"},
	{"examples/hello/README.md", "a smaller one, to begin with"},
	{"docs/reference/api.md", "every field of a definition"},
}

// titleWidth is the width of the column of titles.
const titleWidth = 32

// summary prints a table of the steps and the overall result.
func (r *report) summary(outcomes []outcome, steps []step, ended error) {
	r.line("\n%s", r.style.bold("Summary"))
	failed := ended != nil
	for i, s := range steps {
		result, took := "not reached", ""
		if i < len(outcomes) {
			result, took = r.style.good("ok"), duration(outcomes[i].took)
			if outcomes[i].err != nil {
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
	for _, entry := range nextReading {
		r.line("  %-26s %s", entry[0], entry[1])
	}
}

// duration formats a time: 31 ms, 0.4 s, 12.3 s, 120 s.
func duration(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
