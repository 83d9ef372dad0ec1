// Package steps runs a demonstration: steps that print what they do and why, run commands that a reader could type, and wait for the
// expected state.
package steps

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// signalGrace is how much later than its child processes this process may notice a signal.
const signalGrace = 200 * time.Millisecond

// Environment is where a demonstration prints to.
type Environment struct {
	Stdout   io.Writer
	Terminal bool // Stdout is a terminal.
	Colour   bool
}

// Step is a step of a demonstration.
type Step struct {
	Title string
	Why   string // What happens and why it matters.
	Run   func(context.Context) error
}

// Program is a demonstration.
type Program struct {
	Title string
	Steps []Step
	// Log returns the log of libretto, whose end a failure prints.
	Log func() string
	// Close ends what the steps have started, even after an interrupt.
	Close func(ctx context.Context) error
	// Reading are files for the reader to continue with, and what each is.
	Reading [][2]string
	// Picture is written if all went well. Nil means none.
	Picture *Picture
}

// Picture is a recording of some steps as an SVG.
type Picture struct {
	File  string
	Title string
	Steps []string // Their titles.
	// Shorten returns a line without what is of this machine only.
	Shorten func(line string) string
}

// Main runs a demonstration in the root of the checkout, which the paths of its commands are relative to, and ends the process.
func Main(name string, program func(*Report) Program) {
	// A closed pipe or terminal ends the demonstration like Ctrl-C, so that an external cluster is cleaned up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, _ = signal.NotifyContext(ctx, syscall.SIGPIPE)
	// A second Ctrl-C also ends the cleanup.
	context.AfterFunc(ctx, stop)
	klog.SetLogger(logr.Discard()) // Hides the errors of watches while the control plane stops.
	if err := enterCheckout(); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
	terminal := isTerminal(os.Stdout)
	out := NewReport(Environment{
		Stdout:   os.Stdout,
		Terminal: terminal,
		Colour:   terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	})
	os.Exit(run(ctx, out, program(out)))
}

// enterCheckout changes to the root of the checkout.
func enterCheckout() error {
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	return os.Chdir(root)
}

// isTerminal reports whether a file is a terminal.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// interrupted reports whether the program got a signal. Ctrl-C in a terminal reaches all of its processes, and this one may
// notice the end of another before the signal.
func interrupted(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(signalGrace):
		return false
	}
}

// run runs a program and returns the exit code.
func run(ctx context.Context, out *Report, p Program) int {
	if p.Picture != nil {
		out.record()
	}
	out.Title(p.Title)
	outcomes, err := runSteps(ctx, out, p.Steps)
	if err != nil && !interrupted(ctx) {
		out.failure(err, p.Log())
	}
	ended := p.Close(ctx)
	if ctx.Err() != nil {
		out.interrupted(ended)
		return 130
	}
	if ended != nil {
		out.failure(fmt.Errorf("at the end: %w", ended), "")
	}
	out.summary(outcomes, p, ended)
	if err != nil || ended != nil {
		return 1
	}
	if p.Picture == nil {
		return 0
	}
	if err := out.writePicture(*p.Picture); err != nil {
		out.failure(fmt.Errorf("picture: %w", err), "")
		return 1
	}
	return 0
}

// outcome is the result of a step.
type outcome struct {
	took time.Duration
	err  error
}

// runSteps runs the steps until one fails. It returns the outcomes of those that ran.
func runSteps(ctx context.Context, out *Report, steps []Step) ([]outcome, error) {
	var outcomes []outcome
	for i, s := range steps {
		out.heading(i+1, len(steps), s)
		start := time.Now()
		err := s.Run(ctx)
		outcomes = append(outcomes, outcome{took: time.Since(start), err: err})
		if err != nil {
			return outcomes, fmt.Errorf("step %d, %s: %w", i+1, s.Title, err)
		}
	}
	return outcomes, nil
}
