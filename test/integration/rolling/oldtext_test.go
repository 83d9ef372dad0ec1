package rolling

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestOldText holds a child back at an old text over many edits and a new process: the archive keeps that text as long as the child needs it. Where
// it is gone, the child stays as it is until its turn.
func TestOldText(t *testing.T) {
	e := newEnv(t)
	d := defineWithText(e, "old", cell{method: inPlace}, settings{strategy: "partition: 1"})
	c := d.newReadyParent("web", 2)
	first := d.scriptRevision()
	for n := range 12 {
		d.setText(fmt.Sprint(n))
		d.waitForArchived(d.scriptRevision())
	}
	c.text = "11"
	c.waitForHeld("v111", "v1")
	if kept := d.archived(); len(kept) != 10 || !slices.ContainsFunc(kept, isOf(first)) {
		t.Errorf("the archive has %v, want ten and %.16s", kept, first)
	}

	d.Restart()
	c.lose(1)
	c.waitForHeld("v111", "v1") // It is made by the old text.
	d.setText("12")
	d.waitForArchived(d.scriptRevision())
	c.waitForHeld("v112", "v1")
	if kept := d.archived(); !slices.ContainsFunc(kept, isOf(first)) {
		t.Errorf("after a restart the archive has %v, want %.16s among them", kept, first)
	}

	d.Kill()
	kept := d.archived()
	d.Delete(env.ScriptRevisions, e.Namespace, kept[slices.IndexFunc(kept, isOf(first))])
	start(d.Env)
	d.WaitForEvent(c.name, "ScriptRevisionUnusable", first[:16], "can't be used", "let the rollout go on, or write that text again")
	c.waitForHeld("v112", "v1")
	c.set("partition: 0")
	c.text = "12"
	c.finishScripts()
}

// TestOldTextIsPruned checks that the archive lets a text go once no child is of it, and keeps the one that has settled: the guard goes back to that.
func TestOldTextIsPruned(t *testing.T) {
	e := newEnv(t)
	d := defineWithText(e, "pruned", cell{method: inPlace}, settings{})
	c := d.newReadyParent("web", 2)
	settled := d.scriptRevision()
	var first string
	for n := range 11 {
		d.setText(fmt.Sprint(n))
		c.text = fmt.Sprint(n)
		c.finishScripts()
		d.waitForArchived(d.scriptRevision())
		if n == 0 {
			first = d.scriptRevision()
		}
	}
	if kept := d.archived(); len(kept) != 10 || slices.ContainsFunc(kept, isOf(first)) || !slices.ContainsFunc(kept, isOf(settled)) {
		t.Errorf("the archive has %v, want ten with %.16s, which has settled, and without %.16s", kept, settled, first)
	}
}

// waitForArchived waits until a text is archived, and until what is too much is deleted.
func (d *definition) waitForArchived(id string) {
	d.T.Helper()
	d.Eventually(func() error {
		if kept := d.archived(); len(kept) > 10 || !slices.ContainsFunc(kept, isOf(id)) {
			return fmt.Errorf("the archive has %v, want ten at most with %.16s", kept, id)
		}
		return nil
	})
}

// waitForHeld sets children ready until they have these versions, of which the last is held.
func (c *parent) waitForHeld(versions ...string) {
	c.T.Helper()
	c.Eventually(func() error {
		c.setAllReady()
		if err := c.checkVersions(versions...); err != nil {
			return err
		}
		return c.checkUpdated("False", "partition 1 holds it back")
	})
}

// lose deletes a child and waits until that one is gone.
func (c *parent) lose(n int) {
	c.T.Helper()
	lost := c.child(n)
	c.Delete(c.childScope.resource, c.childScope.Namespace, lost.GetName())
	c.childScope.WaitForDeletion(c.childScope.resource, lost.GetName(), lost.GetUID())
}

// archived returns the names of the archived texts of the definition.
func (d *definition) archived() []string {
	d.T.Helper()
	var names []string
	for name := range d.List(env.ScriptRevisions, "") {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// isOf returns a function that reports whether an archived text is that of a revision.
func isOf(id string) func(name string) bool {
	return func(name string) bool { return strings.Contains(name, id[:16]) }
}
