package rolling

import "testing"

// scenarios are what happens in every cell.
var scenarios = []struct {
	name string
	run  func(*definition)
	// dynamic says that it is played with dynamic apply alone: it has nothing to do with
	// how children are compared and written.
	dynamic bool
}{
	{name: "one-by-one", run: oneByOne},
	{name: "failing-check", run: failingCheck, dynamic: true},
	{name: "rollback", run: rollback},
	{name: "scaled-down", run: scaledDown, dynamic: true},
	{name: "child-deleted", run: childDeleted},
	{name: "killed", run: killed},
	{name: "no-status", run: noStatus, dynamic: true},
	{name: "own-condition", run: ownCondition, dynamic: true},
}

func TestMatrix(t *testing.T) {
	s := newStage(t)
	for _, c := range cells() {
		t.Run(c.String(), func(t *testing.T) {
			d := s.in(t).define(c.code(), c, settings{})
			for _, scenario := range scenarios {
				if c.served && scenario.dynamic {
					continue
				}
				t.Run(scenario.name, func(t *testing.T) { scenario.run(d.in(t)) })
			}
		})
	}
}

// code is a short name of a cell.
func (c cell) code() string {
	code := map[bool]string{false: "n", true: "c"}
	return code[c.clusterParent] + code[c.clusterChild] + map[string]string{recreate: "r", inPlace: "i"}[c.method] + map[bool]string{true: "s"}[c.served]
}

func oneByOne(d *definition) {
	c := d.begun("step", 3)
	c.mustBeCompatible()
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v1", "v1")
	c.mustWaitFor(0)
	c.heal(0)
	c.mustBe("v2", "v2", "v1")
	c.mustWaitFor(1)
	c.heal(1)
	c.mustBe("v2", "v2", "v2")
	c.heal(2)
	c.mustEnd()
	c.mustBeCompatible()
	j.mustUpdate(1, 1, 1)
	j.mustBound(1)
	c.mustBeQuiet()
}

func failingCheck(d *definition) {
	c := d.begun("check", 3)
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v1", "v1")
	c.breaks(0)
	c.mustWaitFor(0, "has condition Ready with status False in place of True")
	c.mustBeQuiet()
	if err := c.are("v2", "v1", "v1"); err != nil {
		d.T.Errorf("a child whose check fails does not hold the rollout: %v", err)
	}
	c.heal(0)
	c.mustEnd()
	j.mustUpdate(1, 1, 1)
	j.mustBound(1)
}

func rollback(d *definition) {
	c := d.begun("back", 3)
	first := c.latest()
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v1", "v1")
	c.heal(0)
	c.mustBe("v2", "v2", "v1")
	c.breaks(1)
	c.mustWaitFor(1)
	c.upgrade("v1")
	c.mustEnd()
	c.mustSay("True", "OnLatestRevision", first)
	j.mustUpdate(2, 2)
	j.mustBound(1)
	c.mustBeQuiet()
}

func scaledDown(d *definition) {
	c := d.begun("scale", 5)
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v1", "v1", "v1", "v1")
	c.heal(0)
	c.mustBe("v2", "v2", "v1", "v1", "v1")
	c.play(spec{count: 3, version: "v2"})
	c.mustBe("v2", "v2", "v1")
	c.mustWaitFor(1)
	// The one that is in the middle of its update goes, and so does the last of the old revision.
	c.play(spec{count: 1, version: "v2"})
	c.mustEnd()
	if c.method == inPlace {
		j.mustUpdate(1, 1)
	}
	j.mustBound(1)
	c.mustBeQuiet()
}

// A child that somebody deletes comes back as it was if it is not its turn.
func childDeleted(d *definition) {
	c := d.begun("gone", 3)
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v1", "v1")
	c.mustWaitFor(0)
	lost := c.children()[c.part(2)]
	d.Delete(c.parts.resource, c.parts.Namespace, c.part(2))
	c.parts.WaitForDeletion(c.parts.resource, c.part(2), lost.GetUID())
	c.mustBe("v2", "v1", "v1")
	c.heal(0)
	c.mustEnd()
	j.mustBound(2) // The deleted one was not libretto's doing.
	c.mustBeQuiet()
}

// killed lets libretto die between two writes: the audit log can't tell what became of a request whose sender has died.
// In the middle of writes it dies in TestKilledAfterEveryWrite.
func killed(d *definition) {
	c := d.begun("kill", 4)
	j := c.journal()
	c.upgrade("v2")
	c.mustBe("v2", "v1", "v1", "v1")
	c.mustWaitFor(0)
	c.Kill()
	c.heal(0)
	c.start()
	c.mustBe("v2", "v2", "v1", "v1")
	c.mustWaitFor(1)
	c.Restart()
	c.WaitForReconciles(d.name, 0, 1)
	c.mustWaitFor(1)
	c.heal(1)
	c.mustEnd()
	j.mustUpdate(1, 1, 1, 1)
	j.mustBound(1)
	c.mustBeQuiet()
}

func noStatus(d *definition) {
	c := d.begun("mute", 3)
	j := c.journal()
	c.play(spec{count: 3, version: "v2", says: "nothing"})
	c.mustBe("v2", "v1", "v1")
	c.mustWaitFor(0)
	c.mustEnd()
	status := c.parent().Object["status"].(map[string]any)
	if len(status) != 2 || status["observedGeneration"] == nil || status["conditions"] == nil {
		d.T.Errorf("the status is %v, want observedGeneration and the condition alone", status)
	}
	j.mustUpdate(1, 1, 1)
	j.mustBound(1)
	c.mustBeQuiet()
}

func ownCondition(d *definition) {
	c := d.begun("own", 3)
	j := c.journal()
	c.play(spec{count: 3, version: "v2", says: "own"})
	c.mustBe("v2", "v1", "v1")
	c.mustSay("Unknown", "AskAgain: the hook's own")
	c.mustEnd()
	j.mustUpdate(1, 1, 1)
	j.mustBound(1)
	c.mustBeQuiet()
}
