// Command demo shows what libretto does, step by step, on a control plane of its own or on the cluster of KUBECONFIG. Each
// step prints what it does and why, runs commands that a reader could type, and waits for the expected state. `make demo`
// runs it, `make picture` with -picture, which writes a recording of an edit.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/steps"
)

func main() {
	picture := flag.String("picture", "", "write a recording of the edits to this file, as an SVG")
	metrics := flag.String("metrics", "", "write what libretto exposes on /metrics each second to this file")
	flag.Parse()
	steps.Main("demo", func(out *steps.Report) steps.Program {
		d := newDemo(os.Getenv("KUBECONFIG"), out)
		d.metrics = *metrics
		return steps.Program{
			Title:   "Libretto: Kubernetes controllers that are scripts in ConfigMaps",
			Steps:   d.steps(),
			Log:     d.Log,
			Close:   d.close,
			Reading: nextReading,
			Picture: d.picture(*picture),
		}
	})
}

// picture returns what to record of the demo, or nil if there is no file.
func (d *demo) picture(file string) *steps.Picture {
	if file == "" {
		return nil
	}
	return &steps.Picture{
		File:    file,
		Title:   "A terminal: a script is edited, and at once a Pod has the new label; then it is broken, and no Pod changes",
		Steps:   []string{editTitle, breakTitle},
		Shorten: func(line string) string { return strings.ReplaceAll(line, d.WorkDir+"/", "") },
	}
}

// Titles of the steps that are in the picture.
const (
	editTitle  = "Edit the script"
	breakTitle = "Break the script"
)

// nextReading are files for the reader to continue with.
var nextReading = [][2]string{
	{"examples/catset/README.md", "the example that you have just seen"},
	{"examples/hello/README.md", "a smaller one, to begin with"},
	{"docs/reference/api.md", "every field of a definition"},
}

// Time limits. On its own control plane a step takes fractions of a second. An external cluster may have to pull an image.
const (
	localLimit    = time.Minute
	externalLimit = 3 * time.Minute
)

// demo is the state that the steps share.
type demo struct {
	*steps.Session
	kubeconfig string     // Of the external cluster; empty if the demo starts a control plane.
	metrics    string     // The file for what libretto exposes; empty if none.
	cleanups   [][]string // Arguments of kubectl, run last to first.
	script     string     // The newest script that loads.
}

func newDemo(kubeconfig string, out *steps.Report) *demo {
	d := &demo{Session: &steps.Session{Out: out, Limit: localLimit}, kubeconfig: kubeconfig}
	if d.external() {
		d.Limit = externalLimit
	}
	return d
}

// external reports whether the demo uses the cluster of KUBECONFIG, which it leaves unchanged.
func (d *demo) external() bool { return d.kubeconfig != "" }

func (d *demo) steps() []steps.Step {
	return []steps.Step{
		d.clusterStep(),
		{
			Title: "Install libretto",
			Why:   "Its CRDs, and the program: one process for all controllers of a cluster.",
			Run:   d.install,
		},
		{
			Title: "Create a controller",
			Why:   "examples/catset is a StatefulSet as a script. A ConfigMap holds it: no image is built, nothing is deployed.",
			Run:   d.createController,
		},
		{
			Title: "Three Pods",
			Why:   "A CatSet asks for three. The script answers which Pods and claims should exist, libretto makes it so.",
			Run:   d.threePods,
		},
		{
			Title: "Scale to five",
			Why:   "A CatSet has the scale subresource, so that kubectl scale and autoscalers work.",
			Run:   d.scale,
		},
		{
			Title: "Delete a Pod by hand",
			Why:   "What should exist and does not is made again, under its old name and with its old claim.",
			Run:   d.deletePod,
		},
		{
			Title: editTitle,
			Why:   "Pod 0 is to be labelled as the leader. The ConfigMap is changed, and that is all.",
			Run:   d.editScript,
		},
		{
			Title: breakTitle,
			Why:   "A parenthesis gets lost. What does not load never runs: the last good revision goes on.",
			Run:   d.breakScript,
		},
		{
			Title: "Mend the script",
			Why:   "The parenthesis is back, and the controller has never been away.",
			Run:   d.repairScript,
		},
		{
			Title: "A harmful edit is held",
			Why:   "A letter gets lost, and no Pod would be wanted. This text loads, so it is tried on a copy of what is there first.",
			Run:   d.holdScript,
		},
		{
			Title: "A rollout turns back",
			Why:   "A field that a policy of the cluster forbids: no copy shows that. With spec.scriptRollout a canary gets the edit first.",
			Run:   d.rollBackScript,
		},
	}
}

// close stops all processes. On an external cluster it deletes what was created, even after an interrupt.
func (d *demo) close(interrupted context.Context) error {
	if d.Watch != nil {
		d.Watch.Stop()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(interrupted), externalLimit)
	defer cancel()
	cleaned, stopped := d.cleanUp(ctx), d.Stop()
	if interrupted.Err() != nil {
		// Ctrl-C in a terminal also stopped the other processes: their exit is no error.
		return cleaned
	}
	return errors.Join(cleaned, stopped)
}

func (d *demo) cleanUp(ctx context.Context) error {
	if len(d.cleanups) == 0 {
		return nil
	}
	d.Out.Section("Clean up", "The cluster is left as it was found.")
	start := time.Now()
	for _, command := range slices.Backward(d.cleanups) {
		if err := d.Kubectl().Run(ctx, command...); err != nil {
			return fmt.Errorf("what the demo created may still be there: %w", err)
		}
	}
	d.Out.OKf("what the demo created is gone (%s)", steps.Duration(time.Since(start)))
	return nil
}

// addCleanup makes close delete the next objects from an external cluster.
func (d *demo) addCleanup(file ...string) {
	if d.external() {
		d.cleanups = append(d.cleanups, append(append([]string{"delete"}, file...), "--ignore-not-found", "--timeout=2m"))
	}
}
