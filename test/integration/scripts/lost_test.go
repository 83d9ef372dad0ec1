package scripts_test

import (
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestEditedWhileDownAndLost edits scripts while no host runs, and deletes what is archived: there is nothing to compare the edit with. One that
// deletes children is held all the same, and one that does not takes over, which is reported.
func TestEditedWhileDownAndLost(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	before, good := uids(e), e.ScriptRevision(definition)
	lost := "revision " + good + " served before, and can't be restored: no such revision is kept"
	e.Kill()
	e.Delete(env.ScriptRevisions, e.Namespace, "composite-"+definition+"-"+good)
	e.WaitForDeletion(env.ScriptRevisions, "composite-"+definition+"-"+good, "")
	applyFiles(e, "hooks", "sync.js", scriptForgetting("two"))
	start(e)
	held := "it would delete 9 of 9 children of 3 of 3 parents"
	e.WaitForCondition(definition, "Progressing", "False", "Held", held, "there was nothing to compare it with: "+lost, "nothing serves")
	isWhole(e, before, "an edit made while no host ran")
	e.Restart()
	e.WaitForCondition(definition, "Ready", "False", "ScriptsNotReady", held)
	isWhole(e, before, "a restart")

	applyFiles(e, "hooks", "sync.js", scriptThrowing("three")) // Nobody knows whether the parents failed before.
	e.WaitForCondition(definition, "Ready", "True", "ScriptNotCompared", lost, "previewed on 3 of 3 parents; 3 of them fail, and perhaps did before")
	e.WaitForEvent(definition, "ScriptNotCompared", "took over, compared with nothing: "+lost)
	isWhole(e, before, "an edit that fails")
	applyFiles(e, "hooks", "sync.js", scriptMaking("four"))
	waitForSaid(e, "a", "four")
	e.WaitForCondition(definition, "Ready", "True", "Running")
	isWhole(e, before, "an edit that was compared")
}

// TestDefinedAnew deletes a definition, which leaves the children, and creates it with a text that makes none: its parents have children, so that the
// text is no first one.
func TestDefinedAnew(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	before := uids(e)
	e.ClusterScope().Delete(env.CompositeControllers, "", definition)
	e.ClusterScope().WaitForDeletion(env.CompositeControllers, definition, "")
	applyFiles(e, "hooks", "sync.js", scriptForgetting("two"))
	defineOfConfigMaps(e, "", "InPlace", source(e, "hooks"))
	e.WaitForCondition(definition, "Progressing", "False", "Held", "it would delete 9 of 9 children", "nothing tells which revision served before")
	isWhole(e, before, "a definition that is created again")
	applyFiles(e, "hooks", "sync.js", scriptMaking("three"))
	waitForSaid(e, "a", "three")
	isWhole(e, before, "the mended text")
}
