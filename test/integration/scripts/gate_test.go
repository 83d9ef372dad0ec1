package scripts_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// fileOf writes an object into a file, and returns its path.
func fileOf(e *env.Env, object *unstructured.Unstructured) string {
	e.T.Helper()
	object = object.DeepCopy()
	object.SetNamespace(e.Namespace)
	text, err := object.MarshalJSON()
	e.NoError(err)
	path := filepath.Join(e.T.TempDir(), "hooks.json")
	e.NoError(os.WriteFile(path, text, 0o600))
	return path
}

// gate is the last document of rollout status -o json.
type gate struct {
	Phase, Revision, WantedRevision string
	Parents                         int32
	UpdatedParents                  *int32
	SyncedParents, FailingParents   *int32
}

// gateOf returns what rollout status -o json prints last.
func gateOf(e *env.Env, line string, code int) gate {
	e.T.Helper()
	var last gate
	decoder := json.NewDecoder(strings.NewReader(command(e, e.Cluster.Kubeconfig, "rollout status -o json "+line, code)))
	for decoder.More() {
		last = gate{}
		e.NoError(decoder.Decode(&last))
	}
	return last
}

// valuesOf returns how many children have each value.
func valuesOf(e *env.Env) string {
	e.T.Helper()
	counts := map[string]int{}
	for _, object := range e.List(env.ConfigMaps, "") {
		if value, _, _ := unstructured.NestedString(object.Object, "data", "value"); value != "" {
			counts[value]++
		}
	}
	return fmt.Sprint(counts)
}

// TestGate asks how far an edit is right after it was applied: the command waits until the host has read it and has synced all parents by it,
// or says by its exit code that it goes no further.
func TestGate(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	command(e, e.Cluster.Kubeconfig, "rollout status --watch --timeout 1m "+definition, 0, ": Complete, ")
	first := e.ScriptRevision(definition)

	two := configMap("hooks", "sync.js", scriptMaking("two"))
	file := fileOf(e, two)
	e.Kill() // So that nobody reads the edit.
	e.ApplyObject(two)
	if got := gateOf(e, definition, 0); got.Phase != "Progressing" || got.Revision[:16] != first || got.WantedRevision == got.Revision {
		t.Errorf("before a host has read the text: %+v", got)
	}
	if got := gateOf(e, definition+" --watch --timeout 2s", 5); got.Phase != "Progressing" {
		t.Errorf("when the time is over: %+v", got)
	}
	start(e)
	got := gateOf(e, "--watch --timeout 1m -f "+file+" "+definition, 0)
	if values := valuesOf(e); values != "map[two:9]" || got.Phase != "Complete" || got.Revision != got.WantedRevision || got.Parents != 3 ||
		*got.UpdatedParents != 3 || *got.SyncedParents != 3 || *got.FailingParents != 0 {
		t.Errorf("complete with children %s: %+v", values, got)
	}
	second := got.Revision

	applyFiles(e, "hooks", "sync.js", scriptForgetting("three"))
	if got := gateOf(e, definition+" --watch --timeout 1m", 3); got.Phase != "Held" || got.Revision != second {
		t.Errorf("a held edit: %+v", got)
	}
	command(e, e.Cluster.Kubeconfig, "rollout status --revision "+second[:16]+" "+definition, 0, ": Complete, ")
	throwing := configMap("hooks", "sync.js", scriptThrowing("four"))
	e.ApplyObject(throwing)
	id := gateOf(e, definition+" --watch --timeout 1m -f "+fileOf(e, throwing), 3).WantedRevision
	command(e, e.Cluster.Kubeconfig, "rollout approve "+definition, 0)
	if got := gateOf(e, definition+" --watch --timeout 1m --revision "+id, 1); got.Phase != "Failing" || *got.FailingParents != 3 || *got.UpdatedParents != 3 {
		t.Errorf("all parents fail: %+v", got)
	}
	applyFiles(e, "hooks", "sync.js", "no script {")
	if got := gateOf(e, definition+" --watch --timeout 1m", 1); got.Phase != "NotReady" {
		t.Errorf("a text that does not load: %+v", got)
	}
	command(e, e.Cluster.Kubeconfig, "rollout status -f "+fileOf(e, configMap("others", "sync.js", ""))+" "+definition, 2,
		"the files have neither CompositeController "+definition+" nor a ConfigMap of its scripts")
	command(e, e.Cluster.Kubeconfig, "rollback --yes --to-revision "+first+" "+definition, 0)
	if got := gateOf(e, definition+" --watch --timeout 1m", 0); got.Revision[:16] != first || valuesOf(e) != "map[one:9]" {
		t.Errorf("complete after a pin with children %s: %+v", valuesOf(e), got)
	}
	if got := gateOf(e, definition+" --watch --timeout 1m --revision "+id, 3); got.Phase != "Pinned" {
		t.Errorf("an edit behind a pin: %+v", got)
	}
}

// TestGateOfSteps asks how far an edit is that goes in steps: it is taken back, or serves all parents in the end.
func TestGateOfSteps(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	e.Kill()
	start(e, "--script-preview=false")
	e.PatchDefinition(env.Composite, definition, `{"spec": {"scriptRollout": {"steps": [{"parents": 1}]}}}`)
	gateOf(e, definition+" --watch --timeout 1m", 0)
	applyFiles(e, "hooks", "sync.js", scriptThrowing("two"))
	if got := gateOf(e, definition+" --watch --timeout 1m", 4); got.Phase != "RolledBack" || valuesOf(e) != "map[one:9]" {
		t.Errorf("taken back with children %s: %+v", valuesOf(e), got)
	}
	applyFiles(e, "hooks", "sync.js", scriptMaking("three"))
	if got := gateOf(e, definition+" --watch --timeout 1m", 0); valuesOf(e) != "map[three:9]" || *got.UpdatedParents != 3 {
		t.Errorf("complete with children %s: %+v", valuesOf(e), got)
	}
}

// TestRollbackShows rolls back to a text that makes a third of the children: that is shown, and not written without --yes.
func TestRollbackShows(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	admin := e.Cluster.Kubeconfig
	few, many := e.ScriptRevision(definition), strings.Replace(scriptMaking("two"), "[1, 2, 3]", "[1, 2, 3, 4, 5, 6, 7]", 1)
	applyFiles(e, "hooks", "sync.js", many)
	waitForSaid(e, "a", "two")
	command(e, admin, "rollout status --watch --timeout 1m "+definition, 0)
	waitUntilArchived(e, definition)
	second := e.ScriptRevision(definition)
	const deletes, held = "- delete 12 ConfigMaps of 3 parents\n", "it would delete 12 of 21 children of 3 of 3 parents, first ConfigMap "
	pinned := func(want any) {
		t.Helper()
		pin, _ := rolloutField(e, definition, "revision").(string)
		if want, _ := want.(string); !strings.HasPrefix(pin, want) || want == "" && pin != "" {
			t.Fatalf("%q is pinned, want %q", pin, want)
		}
	}
	for _, flags := range []string{"", " --dry-run=server", " --dry-run=client"} {
		if out := command(e, admin, "rollback "+definition+flags, 1, deletes, "~ update 9 ConfigMaps of 3 parents\n", "nothing is written: "+held, "--yes"); strings.Contains(out, "rolled back") {
			t.Errorf("it reassures: %s", out)
		}
		pinned(nil)
	}
	command(e, admin, "rollback --yes --dry-run=server "+definition, 0, deletes, held, "rolled back to revision "+few+" (server dry run)\n")
	pinned(nil)
	stranger := e.NewUser("operator")
	stranger.Grant("", "metacontroller.k8s.io", "compositecontrollers,decoratorcontrollers,mapcontrollers", "get", "list", "patch")
	stranger.Grant(e.Namespace, "apps", "controllerrevisions", "get", "list")
	command(e, stranger.Kubeconfig(), "rollback cc/"+definition, 1, "nothing is written: what it would do is unknown: you may not list ")
	pinned(nil)
	command(e, admin, "rollback --yes "+definition, 0, deletes, "rolled back to revision "+few+"\n")
	pinned(few)
	command(e, admin, "rollout status --watch --timeout 1m "+definition, 0, ": Complete, revision "+few)
	if values := valuesOf(e); values != "map[one:9]" {
		t.Errorf("children %s", values)
	}

	command(e, admin, "rollback --unpin "+definition, 0, "+ create 12 ConfigMaps of 3 parents\n", "is not pinned any more")
	command(e, admin, "rollout status --watch --timeout 1m "+definition, 0, ": Complete, revision "+second)
	command(e, admin, "rollback --to-revision "+second+" "+definition, 0, "3 parents: 3 unchanged")
	applyFiles(e, "hooks", "sync.js", scriptMaking("one"))
	e.WaitForCondition(definition, "Progressing", "True", "Pinned: ", "which is held: "+held)
	for _, flags := range []string{"", " --dry-run=server"} {
		command(e, admin, "rollback --unpin "+definition+flags, 1, deletes, "nothing is written: "+held)
		pinned(second)
	}
	command(e, admin, "rollback --unpin --yes "+definition, 0, deletes, "is not pinned any more")
	pinned(nil)
}
