package rolling

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// settingCases have settings that metacontroller does not have.
var settingCases = []struct {
	name   string
	method string
	more   settings
	run    func(*definition)
}{
	{"max-unavailable-in-place", inPlace, settings{strategy: "maxUnavailable: 2"}, twoAtOnce},
	{"max-unavailable-recreate", recreate, settings{strategy: "maxUnavailable: 2"}, twoAtOnce},
	{"max-unavailable-percent", inPlace, settings{strategy: `maxUnavailable: "50%"`}, twoAtOnce},
	{"partition", inPlace, settings{strategy: "partition: 1"}, partitioned},
	{"paused", recreate, settings{strategy: "paused: true"}, paused},
	{"paused-scaling", recreate, settings{templateOnly: true, strategy: "paused: true"}, scaledWhilePaused},
	{"reverse", inPlace, settings{templateOnly: true, strategy: "order: Reverse, partition: 1"}, reversed},
	{"deadline", inPlace, settings{strategy: "progressDeadlineSeconds: 1"}, deadlineExceeded},
	{"field-paths", inPlace, settings{templateOnly: true}, besideTheTemplate},
	{"history-of-none", inPlace, settings{spec: "revisionHistoryLimit: 0"}, history(0)},
	{"history-of-two", inPlace, settings{spec: "revisionHistoryLimit: 2"}, history(2)},
}

func TestSettings(t *testing.T) {
	e := newEnv(t)
	for _, tuning := range settingCases {
		t.Run(tuning.name, func(t *testing.T) {
			tuning.run(define(e.WithT(t), tuning.name, cell{method: tuning.method}, tuning.more))
		})
	}
}

func twoAtOnce(d *definition) {
	c := d.newReadyParent("a", 5)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v2", "v1", "v1", "v1")
	c.waitForWaiting(0, "and for 1 more")
	c.setReady(1)
	c.waitForVersions("v2", "v2", "v2", "v1", "v1")
	c.waitForRollout()
	j.expectUpdates(1, 1, 1, 1, 1)
	if most := j.expectUnavailable(2); most != 2 {
		d.T.Errorf("%d children at most were down at a time, want 2", most)
	}
	c.expectQuiet()
}

func partitioned(d *definition) {
	c := d.newReadyParent("a", 3)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1", "v1")
	c.setReady(0)
	c.waitForVersions("v2", "v2", "v1")
	c.setReady(1)
	c.waitForUpdated("False", "RolloutWaiting", c.childName(2)+" waits: partition 1 holds it back")
	c.expectQuiet()
	if err := c.checkVersions("v2", "v2", "v1"); err != nil {
		d.T.Errorf("the partition does not hold: %v", err)
	}
	d.set("partition: 0")
	c.waitForRollout()
	j.expectUpdates(1, 1, 1)
	j.expectUnavailable(1)
}

func paused(d *definition) {
	c := d.newReadyParent("a", 3)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForUpdated("False", "RolloutWaiting", c.childName(0)+" waits: the rolling update is paused")
	c.expectQuiet()
	d.set("paused: false")
	c.waitForVersions("v2", "v1", "v1")
	d.set("paused: true")
	c.setReady(0)
	c.waitForUpdated("False", "RolloutWaiting", c.childName(1)+" waits: the rolling update is paused")
	c.expectQuiet()
	if err := c.checkVersions("v2", "v1", "v1"); err != nil {
		d.T.Errorf("the pause does not hold: %v", err)
	}
	d.set("paused: false")
	c.waitForRollout()
	j.expectUpdates(1, 1, 1)
	j.expectUnavailable(1)
}

// What is added to a paused rollout is of the old revision, and is updated in its turn.
func scaledWhilePaused(d *definition) {
	c := d.newReadyParent("a", 2)
	c.updateVersion("v2")
	c.waitForUpdated("False", "RolloutWaiting", c.childName(0)+" waits: the rolling update is paused")
	c.update(spec{count: 3, version: "v2"})
	c.waitForVersions("v1", "v1", "v1")
	c.setAllReady()
	c.expectQuiet()
	j := c.recordWrites()
	d.set("paused: false")
	c.waitForRollout()
	j.expectUpdates(1, 1, 1)
	j.expectUnavailable(1)
	c.expectQuiet()
}

// In reverse it is as with a StatefulSet.
func reversed(d *definition) {
	c := d.newReadyParent("a", 3)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v1", "v1", "v2")
	c.waitForWaiting(2)
	c.setReady(2)
	c.waitForVersions("v1", "v2", "v2")
	c.setReady(1)
	c.waitForUpdated("False", "RolloutWaiting", c.childName(0)+" waits: partition 1 holds it back")
	c.update(spec{count: 4, version: "v2"})
	c.waitForVersions("v1", "v2", "v2", "v2")
	c.setReady(3)
	d.set("order: Reverse")
	c.waitForRollout()
	j.expectUpdates(1, 1, 1)
	c.expectQuiet()
}

func deadlineExceeded(d *definition) {
	c := d.newReadyParent("a", 2)
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1")
	c.waitForUpdated("False", "ProgressDeadlineExceeded", "waits for", c.childName(0), "nothing has moved for 1 seconds or more")
	c.WaitForEvent(c.name, "ProgressDeadlineExceeded", c.childName(0), "nothing has moved for 1 seconds or more", "(CompositeController ")
	c.expectQuiet()
	c.waitForRollout()
}

// What is not in fieldPaths reaches all children at once, also those of an old revision.
func besideTheTemplate(d *definition) {
	c := d.newReadyParent("a", 3)
	j := c.recordWrites()
	c.updateVersion("v2")
	c.waitForVersions("v2", "v1", "v1")
	c.waitForWaiting(0)
	c.update(spec{count: 3, version: "v2", motto: "onward"})
	for n := range 3 {
		c.childScope.WaitFor(c.childScope.resource, c.childName(n), env.HasField("onward", "spec", "motto"))
	}
	if err := c.checkVersions("v2", "v1", "v1"); err != nil {
		d.T.Errorf("a change beside the template moves the rollout: %v", err)
	}
	c.waitForRollout()
	j.expectUpdates(2, 2, 2)
	if revisions := c.revisions(); len(revisions) != 2 {
		d.T.Errorf("%d revisions, want those of v1 and v2", len(revisions))
	}
	c.expectQuiet()
}

// history checks how many old revisions are kept, and that they are taken up again.
func history(limit int) func(*definition) {
	return func(d *definition) {
		c := d.newReadyParent("a", 1)
		for _, version := range []string{"v2", "v3", "v4"} {
			c.updateVersion(version)
			c.waitForRollout()
		}
		d.Eventually(func() error {
			if revisions := c.revisions(); len(revisions) != limit+1 {
				return fmt.Errorf("%d revisions, want %d: the latest and as many old ones as the limit says", len(revisions), limit+1)
			}
			return nil
		})
		old := c.revisions()
		delete(old, c.latest())
		// Which are kept is not asked: those of one second have no order.
		for name, before := range old {
			version, _, _ := unstructured.NestedString(before.Object, "parentPatch", "spec", "template", "version")
			c.updateVersion(version)
			c.waitForRollout()
			if again := c.revisions()[name]; name != c.latest() || again.GetUID() != before.GetUID() {
				d.T.Errorf("going back to %s makes revision %s with UID %s, want %s with %s as before", version, c.latest(), again.GetUID(), name,
					before.GetUID())
			}
		}
		c.expectQuiet()
	}
}
