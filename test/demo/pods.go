package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// getAll is how the demo shows where things stand.
func (d *demo) getAll(ctx context.Context) error {
	return d.kubectl(ctx, "get", "catsets,pods,pvc", "-n", demoNamespace)
}

func (d *demo) threePods(ctx context.Context) error {
	d.undoing("-f", catsetFile)
	if err := d.kubectl(ctx, "apply", "-f", catsetFile); err != nil {
		return err
	}
	if err := d.await(ctx, "three Pods are Ready, each with its claim", settled(3)); err != nil {
		return err
	}
	d.out.ok("three Pods are Ready, each with a claim of its own, %s after the CatSet was there", duration(settlingTime(d.watch.all(), 3)))
	if !inOrder(d.watch.all(), podNames(3)) {
		return errors.New("expected every Pod to be created after the one before was Ready; last seen: another order")
	}
	d.out.ok("each was created when the one before was Ready")
	return d.getAll(ctx)
}

func (d *demo) scale(ctx context.Context) error {
	before := fingerprints(d.watch.all(), podNames(3)...)
	if err := d.kubectl(ctx, "scale", "catset", "nginx", "-n", demoNamespace, "--replicas=5"); err != nil {
		return err
	}
	if err := d.await(ctx, "five Pods are Ready, each with its claim", settled(5)); err != nil {
		return err
	}
	d.out.ok("five Pods are Ready, %s after the CatSet said so", duration(settlingTime(d.watch.all(), 5)))
	if err := d.untouched(before); err != nil {
		return err
	}
	d.out.ok("the first three were not touched")
	return d.getAll(ctx)
}

func (d *demo) deletePod(ctx context.Context) error {
	const name = "nginx-1"
	others := fingerprints(d.watch.all(), "nginx-0", "nginx-2", "nginx-3", "nginx-4")
	claim := uid(d.watch.all(), claims, "www-"+name)
	gap, err := d.deleteAndAwait(ctx, name)
	if err != nil {
		return err
	}
	d.out.ok("%s is back and Ready, %s after it was gone", name, duration(gap))
	if now := uid(d.watch.all(), claims, "www-"+name); now != claim {
		return fmt.Errorf("expected the claim www-%s to be the one it was, %s; last seen: %s", name, claim, now)
	}
	if err := d.untouched(others); err != nil {
		return err
	}
	d.out.ok("its claim is the same one, and the other four Pods were not touched")
	return d.kubectl(ctx, "get", "pods", "-n", demoNamespace)
}

// deleteAndAwait deletes one of the five Pods and waits until there are five again. It returns how long the Pod was away.
func (d *demo) deleteAndAwait(ctx context.Context, name string) (time.Duration, error) {
	mark, old := d.watch.mark(), uid(d.watch.all(), pods, name)
	if err := d.kubectl(ctx, "delete", "pod", name, "-n", demoNamespace); err != nil {
		return 0, err
	}
	if err := d.await(ctx, "a new "+name+" is Ready", all(replaced(name, old), settled(5))); err != nil {
		return 0, err
	}
	return awayTime(d.watch.since(mark), name, old), nil
}

// untouched holds if the Pods are those of the fingerprints, to the last field.
func (d *demo) untouched(before map[string]string) error {
	now := d.watch.all()
	for name, expected := range before {
		if seen := fingerprints(now, name)[name]; seen != expected {
			return fmt.Errorf("expected Pod %s to be untouched, %s; last seen: %s", name, expected, seen)
		}
	}
	return nil
}
