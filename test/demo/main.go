// Command demo shows what libretto does, step by step, on a control plane of its own or on the cluster of KUBECONFIG. Each
// step says what it does and why, runs commands that a reader could type, and waits until the cluster shows what it
// promised. `make demo` runs it.
package main

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

// signalGrace is how much later than other processes this one may notice a signal.
const signalGrace = 200 * time.Millisecond

// world is all that the program takes from its surroundings.
type world struct {
	kubeconfig string // of a cluster to use, or empty
	stdout     io.Writer
	terminal   bool // stdout is one: lines can be written over
	colour     bool
}

func main() {
	// A pipe that nobody reads any more and a terminal that was closed end the demo as Ctrl-C does, so that a borrowed
	// cluster is cleaned up even then.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, _ = signal.NotifyContext(ctx, syscall.SIGPIPE)
	// A second Ctrl-C ends the clean-up, too.
	context.AfterFunc(ctx, stop)
	klog.SetLogger(logr.Discard()) // the watches' complaints about a control plane that is being stopped
	if err := enterCheckout(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	terminal := isTerminal(os.Stdout)
	os.Exit(run(ctx, world{
		kubeconfig: os.Getenv("KUBECONFIG"),
		stdout:     os.Stdout,
		terminal:   terminal,
		colour:     terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}))
}

// enterCheckout goes where the paths of the shown commands begin.
func enterCheckout() error {
	root, err := cluster.Root()
	if err != nil {
		return err
	}
	return os.Chdir(root)
}

// isTerminal holds for devices that show characters, and not for files and pipes.
func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// interrupted says whether the demo was told to end. A terminal's Ctrl-C reaches all of its processes, and the end of
// another may be noticed before the signal is.
func interrupted(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(signalGrace):
		return false
	}
}

// run plays the demo and returns the exit code.
func run(ctx context.Context, w world) int {
	out := newReport(w)
	d := newDemo(w, out)
	out.title("Libretto: Kubernetes controllers that are scripts in ConfigMaps")
	played, err := play(ctx, out, d.steps())
	if err != nil && !interrupted(ctx) {
		out.failure(err, d.log())
	}
	ended := d.end(ctx)
	if ctx.Err() != nil {
		out.interrupted(ended)
		return 130
	}
	if ended != nil {
		out.failure(fmt.Errorf("at the end: %w", ended), "")
	}
	out.summary(played, d.steps(), ended)
	if err != nil || ended != nil {
		return 1
	}
	return 0
}
