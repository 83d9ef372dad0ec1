package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

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
