package scripts_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/libretto-k8s/libretto/test/env"
)

// Good, good, bad, good: reported on the definition, on the ConfigMap and in the figures.
func TestEditsOfAHost(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")
	waitUntilArchived(e, name)
	first := e.ScriptRevision(name)
	label := map[string]string{"kind": "CompositeController", "definition": name}

	applyFiles(e, "hooks", "sync.js", scriptSaying("two"))
	waitForSaid(e, "a", "two")
	good := waitForReload(e, name, first)
	waitUntilArchived(e, name)
	e.WaitForEvent(name, "ScriptReloaded", "revision "+good+" serves")
	e.WaitForEvent("hooks", "ScriptReloaded", "CompositeController "+name+": revision "+good+" serves")
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded", "revision "+good+" serves")

	applyFiles(e, "hooks", "sync.js", broken)
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "ConfigMap "+e.Namespace+"/hooks: sync.js:2:10: ",
		"revision "+good+" goes on serving")
	e.WaitForEvent(name, "ScriptInvalid", "sync.js:2:10: ")
	e.WaitForEvent("hooks", "ScriptInvalid", "CompositeController "+name+": sync.js:2:10: ")
	e.ApplyThing("late", "", "")
	waitForSaid(e, "late", "two")
	if failed, info := e.Metric("libretto_definition_script_load_errors_total", label), e.Metric("libretto_definition_script_revision_info", label); failed != 1 ||
		info != 1 {
		t.Errorf("%v load errors and %v revisions that serve, want one of each", failed, info)
	}

	applyFiles(e, "hooks", "sync.js", scriptSaying("three"))
	waitForSaid(e, "a", "three")
	waitForSaid(e, "late", "three")
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	waitForReload(e, name, good)
	if got := e.Metric("libretto_script_reload_duration_seconds", nil); got != 3 {
		t.Errorf("%v swaps were timed, want 3", got)
	}
	waitUntilArchived(e, name)
	if got := len(e.List(env.ScriptRevisions, "")); got != 3 {
		t.Errorf("%d revisions are env.ScriptRevisions, want the 3 that loaded", got)
	}
}

func TestBadAtTheStart(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyFiles(e, "hooks", "sync.js", broken)
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "sync.js:2:10: ")
	e.WaitForCondition(name, "Ready", "False", "ScriptsNotReady")
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	waitForSaid(e, "a", "one")
	e.WaitForCondition(name, "ScriptsReady", "True")
	e.WaitForCondition(name, "Ready", "True")
}

// What served goes on after a restart: with a text that does not load, and without any.
func TestBadAndRestart(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")
	revision := waitUntilArchived(e, name)
	if owner := metav1.GetControllerOf(revision); owner == nil || owner.Name != name {
		t.Errorf("the revision is owned by %v, want the definition", owner)
	}
	applyFiles(e, "hooks", "sync.js", broken)
	e.WaitForCondition(name, "ScriptsReady", "False", "goes on serving")

	mark := e.Mark()
	e.Restart()
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "one")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "sync.js:2:10: ",
		"goes on serving, from ControllerRevision "+e.Namespace+"/"+revision.GetName())
	e.WaitForCondition(name, "Ready", "False", "ScriptInvalid", "parents are synced", "sync.js:2:10: ")

	e.Delete(env.ConfigMaps, e.Namespace, "hooks")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "goes on serving, from ControllerRevision")
	e.Restart()
	e.ApplyThing("c", "", "")
	waitForSaid(e, "c", "one")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "goes on serving, from ControllerRevision")

	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	e.NoRequests(e.Requests(mark).In(e.Namespace).Of("apps", "controllerrevisions").Writes(),
		"restarts, and the text that is kept already, make it write")
	applyFiles(e, "hooks", "sync.js", scriptSaying("two"))
	waitForSaid(e, "c", "two")
	waitUntilArchived(e, name)

	e.Delete(env.CompositeControllers, "", name)
	e.WaitForDeletion(env.ScriptRevisions, revision.GetName(), revision.GetUID())
}

// The ConfigMap, a key, or the namespace is not there, and comes.
func TestSourcesComeAndGo(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")

	e.Delete(env.ConfigMaps, e.Namespace, "hooks")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "ConfigMap "+e.Namespace+"/hooks: not found", "goes on serving")
	applyFiles(e, "hooks", "sync.js", scriptSaying("two"))
	waitForSaid(e, "a", "two")

	env.NoError(t, e.In(env.ConfigMaps).Delete(t.Context(), "hooks", metav1.DeleteOptions{}))
	applyFiles(e, "hooks", "other.js", scriptSaying("three"))
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid",
		`hook sync: no file "sync.js" in the script sources: they have other.js`, "goes on serving")
	e.WaitForEvent("hooks", "ScriptInvalid", "CompositeController "+name+`: hook sync: no file "sync.js"`)
	applyFiles(e, "hooks", "sync.js", scriptSaying("three"))
	waitForSaid(e, "a", "three")
}

func TestSourceInALateNamespace(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	late := e.Namespace + "-late"
	name := define(e, "", fmt.Sprintf("{configMap: {namespace: %s, name: hooks}}", late))
	e.ApplyThing("a", "", "")
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptSourceMissing", "ConfigMap "+late+"/hooks")
	client := kubernetes.NewForConfigOrDie(e.Cluster.Config)
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: late}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	env.NoError(t, e.Cluster.Apply(t.Context(), late, configMap("hooks", "sync.js", scriptSaying("one"))))
	waitForSaid(e, "a", "one")
	e.InNamespace(late).WaitForCount(env.ScriptRevisions, "", 1)
}

// An edit of a library reaches the definitions that import it, each with its own hook.
func TestSharedLibrary(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	library := func(text string) { applyFiles(e, "lib", "lib.js", fmt.Sprintf("export const text = %q;\n", text)) }
	library("one")
	for _, one := range []string{"left", "right"} {
		applyFiles(e, "hooks-"+one, "sync.js", fmt.Sprintf(`
import { text } from "./lib.js";
export const sync = ({parent}) => ({status: {...parent.status, %s: text}, children: []});
`, one))
		define(e, "-"+one, source(e, "hooks-"+one), source(e, "lib"))
	}
	// Each Thing is one definition's: two that write one status would undo each other.
	e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: left, labels: {not-right: \"\"}}}", e.Group))
	e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Thing, metadata: {name: right, labels: {not-left: \"\"}}}", e.Group))
	both := func(want string) {
		t.Helper()
		for _, name := range []string{"left", "right"} {
			e.WaitFor(e.Things(), name, env.HasField(want, "status", name))
		}
	}
	both("one")
	library("two")
	both("two")
	applyFiles(e, "lib", "lib.js", "export const text = ;\n")
	e.WaitForCondition(e.Namespace+"-left", "ScriptsReady", "False", "ConfigMap "+e.Namespace+"/lib: lib.js:1:")
	e.WaitForCondition(e.Namespace+"-right", "ScriptsReady", "False", "ConfigMap "+e.Namespace+"/lib: lib.js:1:")
	e.WaitForEvent("lib", "ScriptInvalid", "CompositeController "+e.Namespace+"-left: lib.js:1:")
	e.WaitForEvent("lib", "ScriptInvalid", "CompositeController "+e.Namespace+"-right: lib.js:1:")
	library("three")
	both("three")
}

// TestPictureBesideScripts edits a script beside a file of binaryData that is no text: it is left out, and reported.
func TestPictureBesideScripts(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")
	e.Patch(env.ConfigMaps, "hooks", fmt.Sprintf(`{"data": {"sync.js": %q}, "binaryData": {"logo.png": "iVBORw0KGgr/"}}`, scriptSaying("two")))
	waitForSaid(e, "a", "two")
	e.WaitForCondition(name, "ScriptsReady", "True", "with warnings", "ConfigMap "+e.Namespace+"/hooks: logo.png: left out, as it is not UTF-8 text")
	e.WaitForCondition(name, "Ready", "True", "Running")
}
