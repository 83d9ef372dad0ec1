package rolling

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// tunings are what happens with settings of libretto's own.
var tunings = []struct {
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
	{"deadline", inPlace, settings{strategy: "progressDeadlineSeconds: 1"}, stuck},
	{"field-paths", inPlace, settings{templateOnly: true}, besideTheTemplate},
	{"history-of-none", inPlace, settings{spec: "revisionHistoryLimit: 0"}, history(0)},
	{"history-of-two", inPlace, settings{spec: "revisionHistoryLimit: 2"}, history(2)},
}

func TestSettings(t *testing.T) {
	s := newStage(t)
	for _, tuning := range tunings {
		t.Run(tuning.name, func(t *testing.T) {
			tuning.run(s.in(t).define(tuning.name, cell{method: tuning.method}, tuning.more))
		})
	}
}

func twoAtOnce(d *definition) {
	c := d.begun("a", 5)
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v2", "v1", "v1", "v1")
	c.mustWaitFor(0, "and for 1 more")
	c.heal(1)
	c.mustBe("v2", "v2", "v2", "v1", "v1")
	c.mustEnd()
	j.mustUpdate(1, 1, 1, 1, 1)
	if most := j.mustBound(2); most != 2 {
		d.T.Errorf("%d children at most were down at a time, want 2", most)
	}
	c.mustBeQuiet()
}

func partitioned(d *definition) {
	c := d.begun("a", 3)
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v1", "v1")
	c.heal(0)
	c.mustBe("v2", "v2", "v1")
	c.heal(1)
	c.mustSay("False", "RolloutWaiting", c.part(2)+" waits: partition 1 holds it back")
	c.mustBeQuiet()
	if err := c.are("v2", "v2", "v1"); err != nil {
		d.T.Errorf("the partition does not hold: %v", err)
	}
	d.set("partition: 0")
	c.mustEnd()
	j.mustUpdate(1, 1, 1)
	j.mustBound(1)
}

func paused(d *definition) {
	c := d.begun("a", 3)
	j := c.journal()
	c.upgrade("v2")
	c.mustSay("False", "RolloutWaiting", c.part(0)+" waits: the rolling update is paused")
	c.mustBeQuiet()
	d.set("paused: false")
	c.mustBe("v2", "v1", "v1")
	d.set("paused: true")
	c.heal(0)
	c.mustSay("False", "RolloutWaiting", c.part(1)+" waits: the rolling update is paused")
	c.mustBeQuiet()
	if err := c.are("v2", "v1", "v1"); err != nil {
		d.T.Errorf("the pause does not hold: %v", err)
	}
	d.set("paused: false")
	c.mustEnd()
	j.mustUpdate(1, 1, 1)
	j.mustBound(1)
}

// What is added to a paused rollout is of the old revision, and is updated in its turn.
func scaledWhilePaused(d *definition) {
	c := d.begun("a", 2)
	c.upgrade("v2")
	c.mustSay("False", "RolloutWaiting", c.part(0)+" waits: the rolling update is paused")
	c.play(spec{count: 3, version: "v2"})
	c.mustBe("v1", "v1", "v1")
	c.healAll()
	c.mustBeQuiet()
	j := c.journal()
	d.set("paused: false")
	c.mustEnd()
	j.mustUpdate(1, 1, 1)
	j.mustBound(1)
	c.mustBeQuiet()
}

// In reverse it is as with a StatefulSet.
func reversed(d *definition) {
	c := d.begun("a", 3)
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v1", "v1", "v2")
	c.mustWaitFor(2)
	c.heal(2)
	c.mustBe("v1", "v2", "v2")
	c.heal(1)
	c.mustSay("False", "RolloutWaiting", c.part(0)+" waits: partition 1 holds it back")
	c.play(spec{count: 4, version: "v2"})
	c.mustBe("v1", "v2", "v2", "v2")
	c.heal(3)
	d.set("order: Reverse")
	c.mustEnd()
	j.mustUpdate(1, 1, 1)
	c.mustBeQuiet()
}

func stuck(d *definition) {
	c := d.begun("a", 2)
	c.upgrade("v2")
	c.mustBe("v2", "v1")
	c.mustSay("False", "ProgressDeadlineExceeded", "waits for", c.part(0), "nothing has moved for 1 seconds or more")
	c.mustBeQuiet()
	c.mustEnd()
}

// What is not in fieldPaths reaches all children at once, also those of an old revision.
func besideTheTemplate(d *definition) {
	c := d.begun("a", 3)
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v1", "v1")
	c.mustWaitFor(0)
	c.play(spec{count: 3, version: "v2", motto: "onward"})
	for n := range 3 {
		c.parts.WaitFor(c.parts.resource, c.part(n), func(part *unstructured.Unstructured) error {
			if motto, _, _ := unstructured.NestedString(part.Object, "spec", "motto"); motto != "onward" {
				return fmt.Errorf("motto of %s is %q, want onward", part.GetName(), motto)
			}
			return nil
		})
	}
	if err := c.are("v2", "v1", "v1"); err != nil {
		d.T.Errorf("a change beside the template moves the rollout: %v", err)
	}
	c.mustEnd()
	j.mustUpdate(2, 2, 2)
	if revisions := c.revisions(); len(revisions) != 2 {
		d.T.Errorf("%d revisions, want those of v1 and v2", len(revisions))
	}
	c.mustBeQuiet()
}

// history checks how many old revisions are kept, and that they are taken up again.
func history(limit int) func(*definition) {
	return func(d *definition) {
		c := d.begun("a", 1)
		for _, version := range []string{"v2", "v3", "v4"} {
			c.upgrade(version)
			c.mustEnd()
		}
		cluster.Eventually(d.T, env.Timeout, func() error {
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
			c.upgrade(version)
			c.mustEnd()
			if again := c.revisions()[name]; name != c.latest() || again.GetUID() != before.GetUID() {
				d.T.Errorf("going back to %s makes revision %s with UID %s, want %s with %s as before", version, c.latest(), again.GetUID(), name, before.GetUID())
			}
		}
		c.mustBeQuiet()
	}
}
