// Command demo shows what libretto does, step by step, on a control plane of its own or on the cluster of KUBECONFIG. Each
// step prints what it does and why, runs commands that a reader could type, and waits for the expected state. `make demo`
// runs it.
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

// signalGrace is how much later than its child processes this process may notice a signal.
const signalGrace = 200 * time.Millisecond

// environment is the environment of the program.
type environment struct {
	kubeconfig string // Of the cluster to use, or empty.
	stdout     io.Writer
	terminal   bool // stdout is a terminal.
	colour     bool
}

func main() {
	// A closed pipe or terminal ends the demo like Ctrl-C, so that an external cluster is cleaned up.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	ctx, _ = signal.NotifyContext(ctx, syscall.SIGPIPE)
	// A second Ctrl-C also ends the cleanup.
	context.AfterFunc(ctx, stop)
	klog.SetLogger(logr.Discard()) // Hides the errors of watches while the control plane stops.
	if err := enterCheckout(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
	terminal := isTerminal(os.Stdout)
	os.Exit(run(ctx, environment{
		kubeconfig: os.Getenv("KUBECONFIG"),
		stdout:     os.Stdout,
		terminal:   terminal,
		colour:     terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb",
	}))
}

// enterCheckout changes to the root of the checkout, which the paths of commands are relative to.
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

// interrupted reports whether the demo got a signal. Ctrl-C in a terminal reaches all of its processes, and this one may
// notice the end of another before the signal.
func interrupted(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return true
	case <-time.After(signalGrace):
		return false
	}
}

// run runs the demo and returns the exit code.
func run(ctx context.Context, env environment) int {
	out := newReport(env)
	d := newDemo(env, out)
	out.title("Libretto: Kubernetes controllers that are scripts in ConfigMaps")
	outcomes, err := runSteps(ctx, out, d.steps())
	if err != nil && !interrupted(ctx) {
		out.failure(err, d.log())
	}
	ended := d.close(ctx)
	if ctx.Err() != nil {
		out.interrupted(ended)
		return 130
	}
	if ended != nil {
		out.failure(fmt.Errorf("at the end: %w", ended), "")
	}
	out.summary(outcomes, d.steps(), ended)
	if err != nil || ended != nil {
		return 1
	}
	return 0
}

// Time limits. On its own control plane a step takes fractions of a second. An external cluster may have to pull an image.
const (
	localLimit    = time.Minute
	externalLimit = 3 * time.Minute
	startLimit    = 90 * time.Second
)

// demo is the state that the steps share.
type demo struct {
	out        *report
	kubeconfig string // Of the external cluster; empty if the demo starts a control plane.
	limit      time.Duration

	// Set by the first step.
	cluster  *cluster.Cluster
	workDir  string     // For the edited script and kubectl's cache.
	cleanups [][]string // Arguments of kubectl, run last to first.

	// Set by the second and third step.
	libretto *cluster.Libretto
	watch    *watch

	script string // The newest script that loads.
}

func newDemo(env environment, out *report) *demo {
	d := &demo{out: out, kubeconfig: env.kubeconfig, limit: localLimit}
	if d.external() {
		d.limit = externalLimit
	}
	return d
}

// external reports whether the demo uses the cluster of KUBECONFIG, which it leaves unchanged.
func (d *demo) external() bool { return d.kubeconfig != "" }

func (d *demo) steps() []step {
	return []step{
		d.clusterStep(),
		{"Install libretto", "Its CRDs, and the program: one process for all controllers of a cluster.", d.install},
		{"Create a controller",
			"examples/catset is a StatefulSet as a script. A ConfigMap holds it: no image is built, nothing is deployed.", d.createController},
		{"Three Pods", "A CatSet asks for three. The script answers which Pods and claims should exist, libretto makes it so.", d.threePods},
		{"Scale to five", "A CatSet has the scale subresource, so that kubectl scale and autoscalers work.", d.scale},
		{"Delete a Pod by hand", "What should exist and does not is made again, under its old name and with its old claim.", d.deletePod},
		{"Edit the script", "Pod 0 is to be labelled as the leader. The ConfigMap is changed, and that is all.", d.editScript},
		{"Break the script", "A parenthesis gets lost. What does not load never runs: the last good revision goes on.", d.breakScript},
		{"Mend the script", "The parenthesis is back, and the controller has never been away.", d.repairScript},
	}
}

// log returns the log of libretto.
func (d *demo) log() string {
	if d.libretto == nil {
		return ""
	}
	return d.libretto.Log()
}

// close stops all processes. On an external cluster it deletes what was created, even after an interrupt.
func (d *demo) close(interrupted context.Context) error {
	if d.watch != nil {
		d.watch.stop()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(interrupted), externalLimit)
	defer cancel()
	cleaned, stopped := d.cleanUp(ctx), d.stop()
	if interrupted.Err() != nil {
		// Ctrl-C in a terminal also stopped the other processes: their exit is no error.
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
	return errors.Join(append(errs, os.RemoveAll(d.workDir))...)
}

func (d *demo) cleanUp(ctx context.Context) error {
	if len(d.cleanups) == 0 {
		return nil
	}
	d.out.section("Clean up", "The cluster is left as it was found.")
	start := time.Now()
	for i := len(d.cleanups) - 1; i >= 0; i-- {
		if err := d.kubectl(ctx, d.cleanups[i]...); err != nil {
			return fmt.Errorf("what the demo created may still be there: %w", err)
		}
	}
	d.out.ok("what the demo created is gone (%s)", duration(time.Since(start)))
	return nil
}

// addCleanup makes close delete the next objects from an external cluster.
func (d *demo) addCleanup(file ...string) {
	if d.external() {
		d.cleanups = append(d.cleanups, append(append([]string{"delete"}, file...), "--ignore-not-found", "--timeout=2m"))
	}
}

// step is a step of the demo.
type step struct {
	title string
	why   string // What happens and why it matters.
	run   func(context.Context) error
}

// outcome is the result of a step.
type outcome struct {
	took time.Duration
	err  error
}

// runSteps runs the steps until one fails. It returns the outcomes of those that ran.
func runSteps(ctx context.Context, out *report, steps []step) ([]outcome, error) {
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

// timeoutError is the error of a step whose check did not pass in time.
type timeoutError struct {
	expected string
	limit    time.Duration
	seen     string
}

func (e timeoutError) Error() string {
	return fmt.Sprintf("expected within %s: %s; last seen: %s", duration(e.limit), e.expected, e.seen)
}
