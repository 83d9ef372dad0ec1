package scripts_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// command runs libretto with a kubeconfig, and fails the test unless it ends with the exit code and prints all parts. It returns its
// standard output.
func command(e *env.Env, kubeconfig, line string, code int, parts ...string) string {
	e.T.Helper()
	program, err := cluster.Binary("libretto")
	e.NoError(err)
	c := exec.CommandContext(e.T.Context(), program, append(strings.Fields(line), "--kubeconfig", kubeconfig)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := c.Run(); err != nil && !errors.As(err, &exit) {
		e.T.Fatal(err)
	}
	got := c.ProcessState.ExitCode()
	e.T.Logf("$ libretto %s\n%s%s(exit code %d)", line, out.String(), errs.String(), got)
	if got != code {
		e.T.Errorf("libretto %s: exit code %d, want %d", line, got, code)
	}
	for _, part := range parts {
		if !strings.Contains(out.String()+errs.String(), part) {
			e.T.Errorf("libretto %s: it does not print %q", line, part)
		}
	}
	return out.String()
}

// rolloutField returns a field of spec.scriptRollout.
func rolloutField(e *env.Env, definition, field string) any {
	e.T.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(e.ClusterScope().Get(env.Definitions(env.Composite), definition).Object, "spec", "scriptRollout", field)
	e.NoError(err)
	return value
}

// TestApproveCommand holds an edit, and lets it through by the command: the edit takes over.
func TestApproveCommand(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	admin, good := e.Cluster.Kubeconfig, e.ScriptRevision(definition)
	command(e, admin, "rollout status --watch cc/"+definition, 0, "CompositeController "+definition+": Complete, revision "+good+" serves all 3 parents")
	command(e, admin, "rollout status "+definition, 0, ": Complete, ")
	command(e, admin, "rollout approve "+definition, 2, "nothing is held or rolled back: there is nothing to approve")

	applyFiles(e, "hooks", "sync.js", scriptForgetting("two"))
	e.WaitForCondition(definition, "Progressing", "False", "Held", "libretto rollout approve compositecontroller/"+definition+", or annotate it: ")
	command(e, admin, "rollout status --watch "+definition, 3, ": Held\n", "  serves   "+good+"\n", "  held     ", "it would delete 9 of 9 children of 3 of 3 parents")
	command(e, admin, "rollout approve --dry-run=client "+definition, 0, " is approved (dry run)\n")
	command(e, admin, "rollout approve --dry-run=server "+definition, 0, " is approved (server dry run)\n")
	if annotations := e.ClusterScope().Get(env.Definitions(env.Composite), definition).GetAnnotations(); annotations["metacontroller.k8s.io/approved-revision"] != "" {
		t.Errorf("a dry run has written %q", annotations)
	}
	waitForSaid(e, "a", "one")

	command(e, admin, "rollout approve "+definition, 0, " is approved\n  it takes over now, for all 3 parents\n")
	waitForSaid(e, "a", "two")
	e.Eventually(func() error {
		if left := uids(e); len(left) > 0 {
			return fmt.Errorf("children %q are left", left)
		}
		return nil
	})
	e.WaitForCondition(definition, "Progressing", "True", "Serving")
	command(e, admin, "rollout status --watch -o json "+definition, 0, `"phase": "Complete"`, `"approvedRevision": "`)

	applyFiles(e, "hooks", "sync.js", "no script {")
	e.WaitForCondition(definition, "ScriptsReady", "False")
	command(e, admin, "rollout status "+definition, 1, ": NotReady\n", "sync.js:1:", "goes on serving")

	e.Kill()
	command(e, admin, "rollout pause "+definition, 0, ": paused\n")
	command(e, admin, "rollout status --watch --timeout 1s "+definition, 5, ": Progressing\n", "the host has not looked at generation ", "it took longer than --timeout 1s")
}

// TestHistoryCommands lists three texts and their differences, pins the first one, and pauses.
func TestHistoryCommands(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	admin := e.Cluster.Kubeconfig
	revisions := []string{e.ScriptRevision(definition)}
	for _, text := range []string{"two", "three"} {
		applyFiles(e, "hooks", "sync.js", scriptMaking(text))
		waitForSaid(e, "a", text)
		e.Eventually(func() error {
			if id := e.ScriptRevision(definition); !slices.Contains(revisions, id) {
				revisions = append(revisions, id)
				return nil
			}
			return fmt.Errorf("the status still has revision %s", revisions[len(revisions)-1])
		})
		waitUntilArchived(e, definition)
	}
	var history struct {
		Revisions []struct {
			Revision int64
			ID       string
			States   []string
		}
	}
	e.NoError(json.Unmarshal([]byte(command(e, admin, "history -o json "+definition, 0)), &history))
	for i, r := range history.Revisions {
		if n := len(revisions) - i; r.Revision != int64(n) || r.ID[:16] != revisions[n-1] || slices.Contains(r.States, "serves") != (i == 0) {
			t.Errorf("revision %d: %v, want %s", n, r, revisions[n-1])
		}
	}
	command(e, admin, "history "+definition, 0, "REVISION   ID ", "\n3          "+revisions[2], "   serves\n2          "+revisions[1], "\n1          "+revisions[0])
	command(e, admin, "history "+definition+" 1", 0, "revision 1 ("+revisions[0]+"), archived ", "  sync.js: 5 lines, ")
	command(e, admin, "history "+definition+" 1 "+revisions[2], 0, "--- "+revisions[0]+"/sync.js\n+++ "+revisions[2]+"/sync.js\n@@ ", `-  return {status: {said: "one"}`, `+  return {status: {said: "three"}`)
	command(e, admin, "history "+definition+" 4", 2, "revision 4 is not archived: see libretto history compositecontroller/"+definition)

	command(e, admin, "rollback --dry-run=server "+definition, 0, "rolled back to revision "+revisions[1]+" (server dry run)\n")
	command(e, admin, "rollback "+definition+" --to-revision 0123456789abcdef", 2, "revision 0123456789abcdef is not archived")
	if pin := rolloutField(e, definition, "revision"); pin != nil {
		t.Errorf("%v is pinned, want nothing", pin)
	}
	command(e, admin, "rollback "+definition+" --to-revision 1", 0, "rolled back to revision "+revisions[0]+"\n",
		"to go on: correct the scripts, then libretto rollback compositecontroller/"+definition+" --unpin\n",
		"the spec is also written by ")
	if pin, _ := rolloutField(e, definition, "revision").(string); !strings.HasPrefix(pin, revisions[0]) {
		t.Errorf("%q is pinned, want %s", pin, revisions[0])
	}
	command(e, admin, "rollback --unpin "+definition, 0, "revision "+revisions[0]+" is not pinned any more\n")
	if pin := rolloutField(e, definition, "revision"); pin != nil {
		t.Errorf("%v is still pinned", pin)
	}
	command(e, admin, "rollout pause "+definition, 0, ": paused\n")
	if paused := rolloutField(e, definition, "paused"); paused != true {
		t.Errorf("paused is %v", paused)
	}
	command(e, admin, "rollout pause "+definition, 0, "not changed, as it is paused already\n")
	command(e, admin, "rollout resume "+definition, 0, ": resumed\n")
	if paused := rolloutField(e, definition, "paused"); paused != nil {
		t.Errorf("paused is %v", paused)
	}
}

// TestRollbackGoesForthAndBack rolls back twice, over a held edit, a text that serves again, and a restart: each time to what served before.
func TestRollbackGoesForthAndBack(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	admin, said := e.Cluster.Kubeconfig, map[string]string{e.ScriptRevision(definition): "one"}
	serve := func(text string) string {
		waitForSaid(e, "a", text)
		var id string
		e.Eventually(func() error {
			if id = e.ScriptRevision(definition); said[id] != "" && said[id] != text {
				return fmt.Errorf("the status still has revision %s, of %q", id, said[id])
			}
			said[id] = text
			return nil
		})
		waitUntilArchived(e, definition)
		return id
	}
	edit := func(text string) string {
		applyFiles(e, "hooks", "sync.js", scriptMaking(text))
		return serve(text)
	}
	first := serve("one")
	edit("two")
	third := edit("three")
	edit("one") // Its number in the archive stays 1.
	applyFiles(e, "hooks", "sync.js", scriptForgetting("four"))
	e.WaitForCondition(definition, "Progressing", "False", "Held")
	e.Restart()
	command(e, admin, "rollback "+definition, 0, "rolled back to revision "+third, "ConfigMap "+e.Namespace+"/hooks stays as it is", "--unpin")
	serve("three")
	command(e, admin, "history "+definition, 0, third+"   ", "serves, pinned", "previous")
	e.WaitForCondition(definition, "Progressing", "True", "Pinned: ", "is held: ")
	command(e, admin, "rollout status --watch "+definition, 0, ": Complete, revision "+third+" serves all 3 parents", "pinned", "is held: it would delete")
	command(e, admin, "rollback "+definition, 0, "rolled back to revision "+first)
	serve("one")
	command(e, admin, "rollback "+definition, 0, "rolled back to revision "+third)
	serve("three")
	applyFiles(e, "hooks", "sync.js", scriptMaking("five"))
	e.WaitForCondition(definition, "Progressing", "True", "Pinned: ", "to let it take over: ")
	command(e, admin, "rollback --unpin "+definition, 0, "is not pinned any more")
	serve("five")
	command(e, admin, "rollout status --watch "+definition, 0, ": Complete, ")
}

// TestCommandsWithoutRights tells users which right is missing: they can do no more than kubectl lets them.
func TestCommandsWithoutRights(t *testing.T) {
	t.Parallel()
	e, definition := newWithChildren(t, "InPlace")
	applyFiles(e, "hooks", "sync.js", scriptForgetting("two"))
	e.WaitForCondition(definition, "Progressing", "False", "Held")
	nobody, reader := e.NewUser("nobody").Kubeconfig(), e.NewUser("reader")
	command(e, nobody, "rollout status "+definition, 2, "you may not get compositecontrollers.metacontroller.k8s.io in all namespaces: it takes a ClusterRole with the rule "+
		`{apiGroups: ["metacontroller.k8s.io"], resources: [compositecontrollers], verbs: [get]}`)
	command(e, e.Cluster.Kubeconfig, "rollout status --as stranger cc/"+definition, 2, "you may not get compositecontrollers.metacontroller.k8s.io")
	reader.Grant("", "metacontroller.k8s.io", "compositecontrollers", "get")
	command(e, reader.Kubeconfig(), "rollout status "+definition, 3, "it is not known whether another kind has that name: you may not get decoratorcontrollers", ": Held\n")
	command(e, reader.Kubeconfig(), "rollout approve cc/"+definition, 2, "you may not patch compositecontrollers.metacontroller.k8s.io in all namespaces")
	command(e, reader.Kubeconfig(), "rollback --to-revision 1 cc/"+definition, 2, "you may not list controllerrevisions.apps in namespace "+e.Namespace+": it takes a Role with the rule ")
	waitForSaid(e, "a", "one")
}
