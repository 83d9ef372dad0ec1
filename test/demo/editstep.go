package main

import "context"

// editScript shows that a changed ConfigMap is all that a new behaviour needs.
func (d *demo) editScript(ctx context.Context) error {
	mark, log := d.watch.mark(), d.watch.all()
	oldRevision, oldPod := revision(log), uid(log, pods, "nginx-0")
	others := fingerprints(log, podNames(5)[1:]...)
	changed, err := leaderEdit.apply(d.good)
	if err != nil {
		return err
	}
	if err := d.applyScript(ctx, d.good, changed); err != nil {
		return err
	}
	d.good = changed
	live := all(newRevision(oldRevision), replaced("nginx-0", oldPod), leads("nginx-0"), settled(5))
	if err := d.await(ctx, "nginx-0 is made anew with the label role=leader", live); err != nil {
		return err
	}
	start, err := d.changedAt(ctx, changed)
	if err != nil {
		return err
	}
	d.out.times(editTimes(d.watch.since(mark), start, oldRevision, oldPod))
	if err := d.untouched(others); err != nil {
		return err
	}
	d.out.ok("the other four Pods come out the same, and were not touched")
	return d.kubectl(ctx, "get", "pods", "-n", demoNamespace, "-L", "role")
}
