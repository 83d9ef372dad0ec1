package rolling

import "testing"

// scenarios run in every cell.
var scenarios = []struct {
	name string
	run  func(*definition)
	// dynamic scenarios run with dynamic apply alone: they have nothing to do with
	// how children are compared and written.
	dynamic bool
}{
	{name: "one-by-one", run: oneByOne},
	{name: "failing-check", run: failingCheck, dynamic: true},
	{name: "rollback", run: rollback},
	{name: "scaled-down", run: scaledDown, dynamic: true},
	{name: "child-deleted", run: childDeleted},
	{name: "killed", run: killedBetweenWrites},
	{name: "no-status", run: noStatus, dynamic: true},
	{name: "own-condition", run: ownCondition, dynamic: true},
}

func TestMatrix(t *testing.T) {
	e := newEnv(t)
	for _, c := range cells() {
		t.Run(c.String(), func(t *testing.T) {
			d := define(e.WithT(t), c.code(), c, settings{})
			for _, scenario := range scenarios {
				if c.serverSide && scenario.dynamic {
					continue
				}
				t.Run(scenario.name, func(t *testing.T) { scenario.run(d.in(t)) })
			}
		})
	}
}

// code returns a short name of a cell.
func (c cell) code() string {
	code := map[bool]string{false: "n", true: "c"}
	return code[c.clusterParent] + code[c.clusterChild] + map[string]string{recreate: "r",
		inPlace: "i"}[c.method] + map[bool]string{true: "s"}[c.serverSide]
}

func oneByOne(d *definition) {
	c := d.newReadyParent("step", 3)
	c.expectCompatible()
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1", "v1")
	c.waitForWaiting(0)
	c.setReady(0)
	c.waitForVersions("v2", "v2", "v1")
	c.waitForWaiting(1)
	c.setReady(1)
	c.waitForVersions("v2", "v2", "v2")
	c.setReady(2)
	c.waitForRollout()
	c.expectCompatible()
	j.expectUpdates(1, 1, 1)
	j.expectUnavailable(1)
	c.expectQuiet()
}

func failingCheck(d *definition) {
	c := d.newReadyParent("check", 3)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1", "v1")
	c.setUnready(0)
	c.waitForWaiting(0, "has condition Ready with status False in place of True")
	c.expectQuiet()
	if err := c.checkVersions("v2", "v1", "v1"); err != nil {
		d.T.Errorf("a child whose check fails does not hold the rollout: %v", err)
	}
	c.setReady(0)
	c.waitForRollout()
	j.expectUpdates(1, 1, 1)
	j.expectUnavailable(1)
}

func rollback(d *definition) {
	c := d.newReadyParent("back", 3)
	first := c.latest()
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1", "v1")
	c.setReady(0)
	c.waitForVersions("v2", "v2", "v1")
	c.setUnready(1)
	c.waitForWaiting(1)
	c.updateVersion("v1")
	c.waitForRollout()
	c.waitForUpdated("True", "OnLatestRevision", first)
	j.expectUpdates(2, 2)
	j.expectUnavailable(1)
	c.expectQuiet()
}

func scaledDown(d *definition) {
	c := d.newReadyParent("scale", 5)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1", "v1", "v1", "v1")
	c.setReady(0)
	c.waitForVersions("v2", "v2", "v1", "v1", "v1")
	c.update(spec{count: 3, version: "v2"})
	c.waitForVersions("v2", "v2", "v1")
	c.waitForWaiting(1)
	// The one that is in the middle of its update goes, and so does the last of the old revision.
	c.update(spec{count: 1, version: "v2"})
	c.waitForRollout()
	if c.method == inPlace {
		j.expectUpdates(1, 1)
	}
	j.expectUnavailable(1)
	c.expectQuiet()
}

// A child that is deleted before its turn is created again in its old version.
func childDeleted(d *definition) {
	c := d.newReadyParent("gone", 3)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1", "v1")
	c.waitForWaiting(0)
	lost := c.children()[c.childName(2)]
	d.Delete(c.childScope.resource, c.childScope.Namespace, c.childName(2))
	c.childScope.WaitForDeletion(c.childScope.resource, c.childName(2), lost.GetUID())
	c.waitForVersions("v2", "v1", "v1")
	c.setReady(0)
	c.waitForRollout()
	j.expectUnavailable(2) // The deleted one was not libretto's doing.
	c.expectQuiet()
}

// killed lets libretto die between two writes: the audit log does not show the result of a request whose sender has died.
// In the middle of writes it dies in TestKilledAfterEveryWrite.
func killedBetweenWrites(d *definition) {
	c := d.newReadyParent("kill", 4)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1", "v1", "v1")
	c.waitForWaiting(0)
	c.Kill()
	c.setReady(0)
	start(c.Env)
	c.waitForVersions("v2", "v2", "v1", "v1")
	c.waitForWaiting(1)
	c.Restart()
	c.WaitForReconciles(d.name, 0, 1)
	c.waitForWaiting(1)
	c.setReady(1)
	c.waitForRollout()
	j.expectUpdates(1, 1, 1, 1)
	j.expectUnavailable(1)
	c.expectQuiet()
}

func noStatus(d *definition) {
	c := d.newReadyParent("mute", 3)
	j := c.recordWrites()
	c.update(spec{count: 3, version: "v2", says: "nothing"})
	c.waitForVersions("v2", "v1", "v1")
	c.waitForWaiting(0)
	c.waitForRollout()
	status := c.live().Object["status"].(map[string]any)
	if len(status) != 2 || status["observedGeneration"] == nil || status["conditions"] == nil {
		d.T.Errorf("the status is %v, want observedGeneration and the condition alone", status)
	}
	j.expectUpdates(1, 1, 1)
	j.expectUnavailable(1)
	c.expectQuiet()
}

func ownCondition(d *definition) {
	c := d.newReadyParent("own", 3)
	j := c.recordWrites()
	c.update(spec{count: 3, version: "v2", says: "own"})
	c.waitForVersions("v2", "v1", "v1")
	c.waitForUpdated("Unknown", "AskAgain: the hook's own")
	c.waitForRollout()
	j.expectUpdates(1, 1, 1)
	j.expectUnavailable(1)
	c.expectQuiet()
}
