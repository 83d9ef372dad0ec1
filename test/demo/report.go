package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// logTail is how much of libretto's log a failure shows.
const logTail = 30

// report writes what the demo does and sees: lines of plain text, with colours and a line that is written over only on
// a terminal.
type report struct {
	out      io.Writer
	terminal bool
	style    style
	begin    time.Time
}

func newReport(w world) *report {
	return &report{out: w.stdout, terminal: w.terminal, style: style(w.colour), begin: time.Now()}
}

// print writes. Nobody is left to be told of an error: a closed pipe is a signal, which ends the demo.
func (r *report) print(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }

func (r *report) line(format string, args ...any) { r.print(format+"\n", args...) }

func (r *report) title(text string) { r.line("%s", r.style.bold(text)) }

func (r *report) heading(number, of int, s step) {
	r.section(fmt.Sprintf("[%d/%d] %s", number, of, s.title), s.why)
}

func (r *report) section(title, why string) {
	r.line("\n%s", r.style.bold(title))
	r.say(why)
}

func (r *report) say(text string) { r.line("    %s", text) }

// command shows what is about to be run.
func (r *report) command(line string) { r.line("  %s", r.style.command("$ "+line)) }

// answer shows what a command printed.
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
			r.say(line.text)
		}
	}
}

// ok says that something came true.
func (r *report) ok(format string, args ...any) {
	r.line("  %s  "+format, append([]any{r.style.good("ok")}, args...)...)
}

// times says what came true after the ConfigMap had changed.
func (r *report) times(timings []timing) {
	for _, t := range timings {
		r.ok("%s after the ConfigMap changed: %s", duration(t.took), t.what)
	}
}

// failure says what did not come true, and what libretto had to say.
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

// interrupted is the last line of a demo that was told to end.
func (r *report) interrupted(err error) {
	r.line("\ninterrupted after %s", duration(time.Since(r.begin)))
	if err != nil {
		r.line("  %v", err)
	}
}
