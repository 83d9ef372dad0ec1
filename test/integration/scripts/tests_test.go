package scripts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// testsWanting returns a file of tests with one case, which wants a Thing's status.said.
func testsWanting(e *env.Env, text string) string {
	return fmt.Sprintf(`
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
definition: not-there.yaml
given: [{apiVersion: %s/v1, kind: Thing, metadata: {name: any}}]
cases:
- {name: says it, want: {status: {said: %s}}}
- {name: needs a file, given: [file.yaml]}
`, e.Group, text)
}

// applyTested applies scripts that say a text, and tests that want another one.
func applyTested(e *env.Env, says, wants string) {
	e.T.Helper()
	applyFiles(e, "hooks", "sync.js", scriptSaying(says), "sync_test.yaml", testsWanting(e, wants))
}

// testRuns returns how often the tests of a definition's scripts have been run, with that result.
func testRuns(e *env.Env, definition, result string) float64 {
	e.T.Helper()
	return e.Metric("libretto_definition_script_tests_total", map[string]string{"kind": "CompositeController", "definition": definition, "result": result})
}

// An edit whose tests fail does not serve, its correction does, and a restart runs no tests.
func TestEditsWithTests(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyTested(e, "one", "one")
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	good := e.ScriptRevision(name)

	applyTested(e, "two", "three")
	e.WaitForCondition(name, "ScriptsReady", "False", "TestsFailed",
		"ConfigMap "+e.Namespace+`/hooks: sync_test.yaml:7:`, `case "says it": `, `said is "two", want "three"`, "revision "+good+" goes on serving")
	e.WaitForEvent(name, "TestsFailed", `case "says it"`)
	e.WaitForEvent("hooks", "TestsFailed", "CompositeController "+name+": sync_test.yaml:7:")
	e.WaitForColumns("CompositeController", name, "False", "TestsFailed", "1")
	e.ApplyThing("late", "", "")
	waitForSaid(e, "late", "one")

	applyTested(e, "three", "three")
	waitForSaid(e, "a", "three")
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	e.WaitForEvent(name, "ScriptReloaded", "1 of its tests passed, and 1 were skipped: ", "needs file.yaml")
	waitUntilArchived(e, name)
	if passed, failed := testRuns(e, name, "passed"), testRuns(e, name, "failed"); passed != 2 || failed != 1 {
		t.Errorf("%v runs of tests passed and %v failed, want 2 and 1", passed, failed)
	}

	e.Restart()
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "three")
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	applyTested(e, "one", "one")
	waitForSaid(e, "b", "one")
	if runs := testRuns(e, name, "passed") + testRuns(e, name, "failed"); runs != 0 {
		t.Errorf("after a restart, and a return to an earlier text, there were %v runs of tests, want none", runs)
	}
}

// A text that fails at first lets nothing serve, until its tests are ignored.
func TestFirstTextFailsItsTests(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyTested(e, "one", "two")
	name := define(e, "", source(e, "hooks"))
	thing := e.ApplyThing("a", "", "")
	e.WaitForCondition(name, "ScriptsReady", "False", "TestsFailed", `case "says it"`)
	e.WaitForCondition(name, "Ready", "False", "ScriptsNotReady")
	if now := e.Get(e.Things(), "a"); now.GetResourceVersion() != thing.GetResourceVersion() {
		t.Error("the parent was changed although nothing serves")
	}
	if got := len(e.List(env.ScriptRevisions, "")); got != 0 {
		t.Errorf("%d revisions are archived, want none of a text that does not serve", got)
	}
	e.PatchDefinition("CompositeController", name, `{"spec": {"scriptTests": "Ignore"}}`)
	waitForSaid(e, "a", "one")
	e.WaitForCondition(name, "ScriptsReady", "True", "Loaded")
	e.PatchDefinition("CompositeController", name, `{"spec": {"scriptTests": "Run"}}`)
	e.WaitForCondition(name, "Ready", "True")
	applyTested(e, "two", "three")
	e.WaitForCondition(name, "ScriptsReady", "False", "TestsFailed")
	waitForSaid(e, "a", "one")
}

// A host that starts with a text that fails serves what served before, and tests run again when a CustomResourceDefinition changes.
func TestFailedTestsAndRestart(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	applyTested(e, "one", "one")
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")
	waitUntilArchived(e, name)
	applyFiles(e, "hooks", "sync.js", "export const sync = () => ({status: {said: 'two'}, children: []})", "sync_test.yaml", fmt.Sprintf(`
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
given: [{apiVersion: %s/v1, kind: Thing, metadata: {name: any}}]
cases: [{name: has a default, want: {parent: {spec: {colour: red}}}}]
`, e.Group))
	e.WaitForCondition(name, "ScriptsReady", "False", "TestsFailed", `case "has a default"`)
	e.Restart()
	e.ApplyThing("b", "", "")
	waitForSaid(e, "b", "one")
	e.WaitForCondition(name, "ScriptsReady", "False", "TestsFailed", "goes on serving, from ControllerRevision")

	spec := "/spec/versions/0/schema/openAPIV3Schema/properties/spec/"
	patch := fmt.Sprintf(`[{"op": "add", "path": "%[1]sdefault", "value": {}},
		{"op": "add", "path": "%[1]sproperties", "value": {"colour": {"type": "string", "default": "red"}}}]`, spec)
	_, err := e.Cluster.Dynamic().Resource(env.CRDs).Patch(t.Context(), "things."+e.Group, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	env.NoError(t, err)
	waitForSaid(e, "b", "two")
	if failed, passed := testRuns(e, name, "failed"), testRuns(e, name, "passed"); failed != 1 || passed != 1 {
		t.Errorf("since the restart %v runs of tests failed and %v passed, want one before the schema has a default and one after", failed, passed)
	}
}

// Tests that compute without end stop neither calls nor other definitions, and end in time. A newer text ends them.
func TestHostileTestsOfAHost(t *testing.T) {
	t.Parallel()
	e := newRunning(t, "--script-workers=2")
	applyTested(e, "one", "one")
	name := define(e, "", source(e, "hooks"))
	applyFiles(e, "others", "sync.js", scriptSaying("one"))
	other := define(e, "-other", source(e, "others"))
	e.ApplyThing("a", "not-other: \"\"", "")
	waitForSaid(e, "a", "one")
	endless := func(says string) {
		t.Helper()
		applyFiles(e, "hooks", "sync.js", fmt.Sprintf(`
export function sync({parent}) {
  while (parent.metadata.name.startsWith("spin-")) {}
  return {status: {said: %q}, children: []};
}
`, says), "sync_test.yaml", fmt.Sprintf(`
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
cases:
- {name: "spins ${i}", each: [%s], given: [{apiVersion: %s/v1, kind: Thing, metadata: {name: "spin-${i}"}}], fails: HookTimedOut}
`, numbers(100), e.Group))
	}
	endless("two")
	e.WaitForCondition(name, "ScriptsReady", "Unknown", "Testing", "are being run", "goes on serving")
	e.ApplyThing("late", "not-other: \"\"", "")
	waitForSaid(e, "late", "one")
	e.ApplyThing("b", "not: \"\"", "")
	waitForSaid(e, "b", "one")
	applyFiles(e, "others", "sync.js", scriptSaying("two"))
	waitForSaid(e, "b", "two")
	e.WaitForCondition(other, "ScriptsReady", "True", "Loaded")
	applyTested(e, "three", "three")
	waitForSaid(e, "late", "three")

	endless("four")
	// The tests have 30 s of a processor for themselves, which may take 30 times as long by the wall on a busy machine.
	cluster.Eventually(t, 30*30*time.Second, func() error {
		object, err := e.Cluster.Dynamic().Resource(env.CompositeControllers).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := e.ConditionOf(object, "ScriptsReady")
		if c.Reason != "TestsFailed" || !strings.Contains(c.Message, "did not end within 30s") || !strings.Contains(c.Message, "goes on serving") {
			return fmt.Errorf("condition %s: %s, want tests that did not end within 30s", c.Reason, c.Message)
		}
		return nil
	})
	for result, want := range map[string]float64{"canceled": 1, "timedOut": 1, "passed": 2} {
		if got := testRuns(e, name, result); got != want {
			t.Errorf("%v runs of tests are %s, want %v", got, result, want)
		}
	}
}

// numbers returns entries of each.
func numbers(n int) string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("{i: %d}", i))
	}
	return strings.Join(all, ", ")
}

// A CustomResourceDefinition that changes under scripts has the host warn of what they read and it does not have, also after a restart,
// until they are mended. Nothing else happens.
func TestSchemaChangesUnderScripts(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	script := func(field string) {
		applyFiles(e, "hooks", "sync.js", fmt.Sprintf("export const sync = ({parent}) => ({\n  status: {said: parent.spec.%s},\n  children: [],\n})", field))
	}
	script("colour")
	name := define(e, "", source(e, "hooks"))
	e.ApplyThing("a", "", "colour: red")
	waitForSaid(e, "a", "red")
	patch := `[{"op": "replace", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec",
		"value": {"type": "object", "properties": {"color": {"type": "string", "default": "blue"}, "size": {"type": "integer"}}}}]`
	_, err := e.Cluster.Dynamic().Resource(env.CRDs).Patch(t.Context(), "things."+e.Group, types.JSONPatchType, []byte(patch), metav1.PatchOptions{})
	env.NoError(t, err)
	messages := []string{"SchemaMismatch", "CustomResourceDefinitions have changed", "sync.js:2:30", "parent.spec.colour: there is no such field: did you mean color?"}
	e.WaitForCondition(name, "Ready", "True", messages...)
	e.WaitForEvent(name, "SchemaMismatch", messages[1:]...)
	e.Restart()
	e.WaitForQuiet()
	e.WaitForCondition(name, "Ready", "True", messages...)
	script("color")
	e.WaitForCondition(name, "Ready", "True", "Running")
	waitForSaid(e, "a", "blue")
}
