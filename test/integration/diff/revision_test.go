package diff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestRevisionOfParent explains and captures parents of which a host runs other scripts than the sources hold: these are run here, too.
func TestRevisionOfParent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	run := func(command, name string, args ...string) (string, string, int) {
		return libretto(s.Env, append([]string{command, "things." + s.Group + "/" + name, "-n", s.Namespace, "--kubeconfig", s.Cluster.Kubeconfig}, args...)...)
	}
	s.Apply(s.hooks(strings.Replace(script, "children: [", "children: true ? [] : [", 1)))
	s.WaitForCondition(s.name, "Progressing", "False", "Held")
	stdout, stderr, code := run("explain", "thing-0")
	if code != 1 || stderr != "" { // For the condition of the definition.
		t.Errorf("exit code %d, want 1: %s", code, stderr)
	}
	mustContain(t, stdout, []string{": what the sources hold, revision ", ", is held\n", "  Pod " + s.Namespace + "/thing-0 is as wanted\n"}, []string{"- delete"})
	stdout, stderr, code = run("capture", "thing-0")
	if code != 0 || stderr != "" {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	mustContain(t, stdout, []string{"# The scripts of CompositeController " + s.name + " are those of revision ", ", is held.\n"}, []string{"true ? []", "very-secret"})
	testFile(s.Env, stdout, 1)

	u := s.NewUser("no-archivist")
	u.Grant(s.Namespace, s.Group, "things", "get", "list")
	u.Grant(s.Namespace, "", "configmaps,secrets,services,pods", "get", "list")
	u.Grant(s.Namespace, "apps", "deployments", "get", "list")
	u.Grant("", "metacontroller.k8s.io", "compositecontrollers,decoratorcontrollers,mapcontrollers", "get", "list")
	stdout, stderr, code = libretto(s.Env, "explain", "things."+s.Group+"/thing-0", "-n", s.Namespace, "--kubeconfig", u.Kubeconfig())
	if code != 1 {
		t.Errorf("exit code %d, want 1: %s", code, stderr)
	}
	mustContain(t, stdout, []string{"- delete Pod ", "can't be had here: you may not get controllerrevisions.apps in namespace " + s.Namespace}, nil)

	s.Apply(s.hooks("export function sync("))
	s.WaitForCondition(s.name, "ScriptsReady", "False", "")
	stdout, _, _ = run("explain", "thing-0")
	mustContain(t, stdout, []string{": it serves, and what the sources hold does not load here: ", "  Pod " + s.Namespace + "/thing-0 is as wanted\n"}, nil)
}

// TestRevisionOfStep explains two parents while an edit of files in folders, and of parameters, has come to one of them.
func TestRevisionOfStep(t *testing.T) {
	t.Parallel()
	e := env.NewRunning(t)
	const text = `import { value } from "./lib/value.js";
export function sync({parent, parameters}) {
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {text: value + parameters.more}}]};
}`
	hooks := func(value string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hooks}\ndata:\n  value: 'export const value = %q;'\n  main: |\n%s\n", value, "    "+strings.ReplaceAll(text, "\n", "\n    "))
	}
	spec := func(more string) []string {
		return []string{"generateSelector: true", e.Parent("things", ""), "childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]",
			fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: hooks, items: [{key: main, path: main.js}, {key: value, path: lib/value.js}]}}]", e.Namespace),
			"scriptRollout: {steps: [{selector: {matchLabels: {tier: canary}}, pauseSeconds: 3000}]}",
			fmt.Sprintf("hooks: {sync: {version: v2, script: {path: main.js, parameters: {more: %q}}}}", more)}
	}
	e.Apply(hooks("one"))
	e.DefineReady(env.Composite, "", spec("-a")...)
	e.ApplyThing("first", "tier: canary", "")
	e.ApplyThing("second", "", "")
	e.WaitFor(env.ConfigMaps, "first", env.HasText("one-a"))
	e.WaitFor(env.ConfigMaps, "second", env.HasText("one-a"))
	e.Apply(hooks("two"))
	e.Define(env.Composite, "", spec("-b")...)
	e.WaitFor(env.ConfigMaps, "first", env.HasText("two-b"))
	for parent, want := range map[string]string{
		"first":  ": step 1 of 2 of the rollout has the parent",
		"second": ": step 1 of 2 of the rollout to revision ",
	} {
		args := []string{"things." + e.Group + "/" + parent, "-n", e.Namespace, "--kubeconfig", e.Cluster.Kubeconfig}
		e.Eventually(func() error {
			stdout, stderr, code := libretto(e, append([]string{"explain"}, args...)...)
			if code != 0 || !strings.Contains(stdout, want) || strings.Count(stdout, "\n") != 1 {
				return fmt.Errorf("exit code %d, want one line with %q: %s%s", code, want, stdout, stderr)
			}
			return nil
		})
		stdout, stderr, code := libretto(e, append([]string{"capture"}, args...)...)
		if code != 0 || stderr != "" {
			t.Errorf("exit code %d: %s", code, stderr)
		}
		testFile(e, stdout, 1)
	}
}
