// Command demo shows what libretto does, step by step, on a control plane of its own or on the cluster of KUBECONFIG. Each
// step says what it does and why, runs commands that a reader could type, and waits until the cluster shows what it
// promised. `make demo` runs it.
package main

import (
	"context"
	"errors"
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

// The limits of waiting. On its own control plane a step takes fractions of a second, and the limit is for a machine
// that is busy with something else; another cluster may have to fetch an image first.
const (
	ownLimit      = time.Minute
	borrowedLimit = 3 * time.Minute
	startLimit    = 90 * time.Second
)

// demo is what the steps share.
type demo struct {
	out        *report
	kubeconfig string // of the borrowed cluster; empty if the control plane is the demo's own
	limit      time.Duration

	// From the first step on.
	cluster *cluster.Cluster
	work    string     // folder for the edited script and kubectl's cache
	undo    [][]string // kubectl's arguments, to be run last to first

	// From the second step on.
	libretto *cluster.Libretto
	watch    *watch

	good string // the newest script that loads
}

func newDemo(w world, out *report) *demo {
	d := &demo{out: out, kubeconfig: w.kubeconfig, limit: ownLimit}
	if d.borrowed() {
		d.limit = borrowedLimit
	}
	return d
}

// borrowed holds if the cluster is somebody else's, and to be left as it was found.
func (d *demo) borrowed() bool { return d.kubeconfig != "" }

func (d *demo) steps() []step {
	return []step{
		d.clusterStep(),
		{"Install libretto", "Its CRDs, and the program: one process for all controllers of a cluster.", d.install},
		{"Create a controller", "examples/catset is a StatefulSet as a script. A ConfigMap holds it: no image is built, nothing is deployed.", d.create},
		{"Three Pods", "A CatSet asks for three. The script answers which Pods and claims should exist, libretto makes it so.", d.threePods},
		{"Scale to five", "A CatSet has the scale subresource, so that kubectl scale and autoscalers work.", d.scale},
		{"Delete a Pod by hand", "What should exist and does not is made again, under its old name and with its old claim.", d.deletePod},
		{"Edit the script", "Pod 0 is to be labelled as the leader. The ConfigMap is changed, and that is all.", d.editScript},
		{"Break the script", "A parenthesis gets lost. What does not load never runs: the last good revision goes on.", d.breakScript},
		{"Mend the script", "The parenthesis is back, and the controller has never been away.", d.mendScript},
	}
}

// log is what libretto has logged, if it was started.
func (d *demo) log() string {
	if d.libretto == nil {
		return ""
	}
	return d.libretto.Log()
}

// end stops what was started, and on a borrowed cluster deletes what was created, also when the demo was interrupted.
func (d *demo) end(interrupted context.Context) error {
	if d.watch != nil {
		d.watch.stop()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(interrupted), borrowedLimit)
	defer cancel()
	cleaned, stopped := d.cleanUp(ctx), d.stop()
	if interrupted.Err() != nil {
		// A terminal's Ctrl-C reached all of the demo's processes: that they had stopped is no error.
		return cleaned
	}
	return errors.Join(cleaned, stopped)
}

func (d *demo) stop() error {
	var errs []error
	if d.libretto != nil {
		errs = append(errs, d.libretto.Stop())
	}
	if d.cluster != nil {
		errs = append(errs, d.cluster.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(d.work))...)
}

func (d *demo) cleanUp(ctx context.Context) error {
	if len(d.undo) == 0 {
		return nil
	}
	d.out.section("Clean up", "The cluster is left as it was found.")
	start := time.Now()
	for i := len(d.undo) - 1; i >= 0; i-- {
		if err := d.kubectl(ctx, d.undo[i]...); err != nil {
			return fmt.Errorf("what the demo created may still be there: %w", err)
		}
	}
	d.out.ok("what the demo created is gone (%s)", duration(time.Since(start)))
	return nil
}

// undoing notes how to take back on a borrowed cluster what comes next. Its own control plane takes all with it.
func (d *demo) undoing(file ...string) {
	if d.borrowed() {
		d.undo = append(d.undo, append(append([]string{"delete"}, file...), "--ignore-not-found", "--timeout=2m"))
	}
}

// step is one thing that the demo shows.
type step struct {
	title string
	why   string // what happens and why it matters, in plain words
	run   func(context.Context) error
}

// outcome is how a step went.
type outcome struct {
	took time.Duration
	err  error
}

// play runs the steps until one fails, and returns the outcomes of those that were run.
func play(ctx context.Context, out *report, steps []step) ([]outcome, error) {
	var outcomes []outcome
	for i, s := range steps {
		out.heading(i+1, len(steps), s)
		start := time.Now()
		err := s.run(ctx)
		outcomes = append(outcomes, outcome{took: time.Since(start), err: err})
		if err != nil {
			return outcomes, fmt.Errorf("step %d, %s: %w", i+1, s.title, err)
		}
	}
	return outcomes, nil
}

// unmet is the error of a step that waited in vain.
type unmet struct {
	expected string
	limit    time.Duration
	seen     string
}

func (e unmet) Error() string {
	return fmt.Sprintf("expected within %s: %s; last seen: %s", duration(e.limit), e.expected, e.seen)
}
