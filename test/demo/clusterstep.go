package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// clusterStep is the first step: where everything else happens.
func (d *demo) clusterStep() step {
	if d.borrowed() {
		return step{
			"Use the cluster of KUBECONFIG",
			"KUBECONFIG is set, so that no control plane is started. What the demo creates is deleted at the end.",
			d.borrow,
		}
	}
	return step{
		"Start a control plane",
		"A real API server with etcd. A stand-in for the kubelet says that Pods run, so that nothing is downloaded.",
		d.start,
	}
}

func (d *demo) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	begin := time.Now()
	err := d.out.during("the control plane starts", func() (err error) {
		d.cluster, err = cluster.Start(ctx, cluster.Options{})
		return err
	})
	if err != nil {
		return err
	}
	d.out.ok("ready at %s (%s)", d.cluster.Config.Host, duration(time.Since(begin)))
	d.out.say("While the demo lasts you can look around: export KUBECONFIG=" + d.cluster.Kubeconfig)
	return d.makeWork(d.cluster.Dir)
}

func (d *demo) borrow(ctx context.Context) error {
	if strings.ContainsRune(d.kubeconfig, os.PathListSeparator) {
		return fmt.Errorf("KUBECONFIG=%s lists several files: set it to one", d.kubeconfig)
	}
	var err error
	if d.cluster, err = cluster.Attach(d.kubeconfig); err != nil {
		return err
	}
	if err := d.makeWork(""); err != nil {
		return err
	}
	if err := d.out.during("looking what is there", func() error { return d.refuseIfInUse(ctx) }); err != nil {
		return err
	}
	d.out.ok("nothing is in the way at %s", d.cluster.Config.Host)
	return nil
}

// makeWork makes the folder for the demo's files. That of the own control plane vanishes with it, even if the demo is
// killed.
func (d *demo) makeWork(parent string) error {
	work, err := os.MkdirTemp(parent, "demo-")
	if err != nil {
		return fmt.Errorf("work folder: %w", err)
	}
	d.work, err = filepath.Abs(work)
	return err
}
