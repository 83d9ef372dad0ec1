package steps

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/steps/recording"
)

// logTail is the number of log lines that a failure prints.
const logTail = 30

// Report prints a demonstration as plain text. Colours and the progress line are only for terminals.
type Report struct {
	out      io.Writer
	terminal bool
	style    style
	begin    time.Time
	recorder *recording.Recorder // Nil if nothing is recorded.
}

// NewReport returns a Report that prints to the standard output of an environment.
func NewReport(env Environment) *Report {
	return &Report{out: env.Stdout, terminal: env.Terminal, style: style(env.Colour), begin: time.Now()}
}

// record records what is printed from now on, with colours and without the progress lines of a terminal.
func (r *Report) record() {
	r.recorder = recording.NewRecorder(time.Now)
	r.out, r.terminal, r.style = io.MultiWriter(r.out, r.recorder), false, true
}

// writePicture writes the recording of the picture's steps.
func (r *Report) writePicture(p Picture) error {
	lines := recording.Pace(r.recorder.Sections(p.Steps...))
	for i := range lines {
		lines[i].Text = p.Shorten(lines[i].Text)
	}
	var svg bytes.Buffer
	if err := recording.WriteSVG(&svg, p.Title, lines); err != nil {
		return err
	}
	if err := os.WriteFile(p.File, svg.Bytes(), 0o644); err != nil {
		return err
	}
	r.linef("\nWrote %s", p.File)
	return nil
}

// printf prints. It ignores errors, as SIGPIPE ends the demo.
func (r *Report) printf(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

func (r *Report) linef(format string, args ...any) { r.printf(format+"\n", args...) }

// Title prints the first line.
func (r *Report) Title(text string) { r.linef("%s", r.style.bold(text)) }

func (r *Report) heading(number, of int, s Step) {
	r.Section(fmt.Sprintf("[%d/%d] %s", number, of, s.Title), s.Why)
}

// Section prints a title of a part, and what it is for.
func (r *Report) Section(title, why string) {
	r.linef("\n%s", r.style.bold(title))
	r.Info(why)
}

// Info prints a remark.
func (r *Report) Info(text string) { r.linef("    %s", text) }

// Command prints a command before it runs.
func (r *Report) Command(line string) { r.linef("  %s", r.style.command("$ "+line)) }

// Answer prints the output of a command.
func (r *Report) Answer(text string) {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		r.linef("%s", strings.TrimRight("    "+line, " "))
	}
}

// Removed prints a line of a diff that is no longer there.
func (r *Report) Removed(text string) { r.linef("%s", r.style.bad("    - "+text)) }

// Added prints a line of a diff that is new.
func (r *Report) Added(text string) { r.linef("%s", r.style.good("    + "+text)) }

// OKf prints an expectation that was met.
func (r *Report) OKf(format string, args ...any) {
	r.linef("  %s  "+format, append([]any{r.style.good("ok")}, args...)...)
}

// failure prints an error and the end of libretto's log.
func (r *Report) failure(err error, log string) {
	r.linef("  %s  %v", r.style.bad("FAILED"), err)
	if log == "" {
		return
	}
	r.linef("\nThe last lines of libretto's log:")
	r.Answer(tail(log, logTail))
}

func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// interrupted prints the last line of a demo that got a signal.
func (r *Report) interrupted(err error) {
	r.linef("\ninterrupted after %s", Duration(time.Since(r.begin)))
	if err != nil {
		r.linef("  %v", err)
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

// WithProgress runs a task and prints its progress. The task must not print.
func (r *Report) WithProgress(what string, task func() error) error {
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
func (r *Report) progress(what string, stop <-chan struct{}) {
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
			r.printf(format, what, Duration(time.Since(begin)))
		case <-stop:
			if shown {
				r.printf("%s", last)
			}
			return
		}
	}
}

// titleWidth is the width of the column of titles.
const titleWidth = 32

// summary prints a table of the steps and the overall result.
func (r *Report) summary(outcomes []outcome, p Program, ended error) {
	r.linef("\n%s", r.style.bold("Summary"))
	failed := ended != nil
	for i, s := range p.Steps {
		result, took := "not reached", ""
		if i < len(outcomes) {
			result, took = r.style.good("ok"), Duration(outcomes[i].took)
			if outcomes[i].err != nil {
				result, failed = r.style.bad("FAILED"), true
			}
		}
		r.linef("  %2d  %-*s %8s  %s", i+1, titleWidth, s.Title, took, result)
	}
	r.linef("      %-*s %8s", titleWidth, "in all", Duration(time.Since(r.begin)))
	if failed {
		r.linef("\nNot every step came true: see FAILED above.")
		return
	}
	r.linef("\nEvery step came true. Read on:")
	width := 0
	for _, entry := range p.Reading {
		width = max(width, len(entry[0]))
	}
	for _, entry := range p.Reading {
		r.linef("  %-*s  %s", width, entry[0], entry[1])
	}
}

// Duration formats a time: 31 ms, 0.4 s, 12.3 s, 120 s.
func Duration(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond).Milliseconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f s", d.Seconds())
}
