package diff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestExplain tells of a parent that is as wanted, and then of what a host that is gone would do about it. It is alone in the cluster: the
// hosts of other tests would do it.
func TestExplain(t *testing.T) {
	s := newScene(t)
	author := s.reader()
	explain := func(name string, args ...string) (string, string, int) {
		return libretto(s.Env, append([]string{"explain", "things." + s.Group + "/" + name, "-n", s.Namespace, "--kubeconfig", author}, args...)...)
	}
	s.Eventually(func() error { // The status may be on its way.
		stdout, stderr, code := explain("thing-0")
		line := fmt.Sprintf("Thing %s/thing-0 is as wanted by CompositeController %s (scripts ", s.Namespace, s.name)
		if code != 0 || !strings.HasPrefix(stdout, line) || strings.Count(stdout, "\n") != 1 ||
			!strings.Contains(stdout, "1 ConfigMap, 1 Deployment, 1 Pod, 1 Secret, 1 Service") {
			return fmt.Errorf("exit code %d, want one line: %s%s", code, stdout, stderr)
		}
		if !strings.Contains(stderr, "no events: you may not list events") {
			return fmt.Errorf("events: %s", stderr)
		}
		return nil
	})
	_, stderr, code := libretto(s.Env, "explain", "pod/thing-0", "-n", s.Namespace, "--kubeconfig", author)
	command := "libretto explain Thing.v1." + s.Group + "/thing-0 -n " + s.Namespace
	if code != 2 || !strings.Contains(stderr, "it belongs to Thing thing-0, of which "+command+" tells") {
		t.Errorf("a child: exit code %d: %s", code, stderr)
	}
	stdout, _, code := explain("thing-0", "--all")
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	mustContain(t, stdout, []string{
		"  ConfigMap " + s.Namespace + "/thing-0 is as wanted\n", "    sync was given ", "and answered 1 ConfigMap, 1 Deployment, ",
		"      request:\n", "password: (hidden)", "looked at again when something changes\n",
	}, []string{"very-secret", "dmVyeS1zZWNyZXQ"})

	s.Kill()
	s.Patch(env.ConfigMaps, "thing-0", `{"data": {"mode": "mine"}}`)
	s.Kubectl("-n", s.Namespace, "set", "image", "pod/thing-0", "main=app:mine")
	s.Delete(env.Secrets, s.Namespace, "thing-0")
	stdout, stderr, code = explain("thing-0")
	if code != 1 {
		t.Errorf("exit code %d, want 1: %s", code, stderr)
	}
	mustContain(t, stdout, []string{
		"-/+ recreate Pod " + s.Namespace + "/thing-0\n", "app:mine", "~ update ConfigMap " + s.Namespace + "/thing-0\n      data.mode: \"mine\" becomes \"fast\"\n",
		"+ create Secret " + s.Namespace + "/thing-0\n", "  Service " + s.Namespace + "/thing-0 is as wanted",
	}, []string{"very-secret"})
	if strings.Index(stdout, "recreate") > strings.Index(stdout, "update ConfigMap") {
		t.Errorf("the recreation is not the first:\n%s", stdout)
	}

	s.Apply(s.hooks(strings.Replace(script, "const labels", `console.log("seen very-secret-one", name); if (name) throw new Error("not this one"); const labels`, 1)))
	stdout, _, code = explain("thing-1") // A host would go on with the archived revision until it has previewed the edit.
	if code != 0 || !strings.Contains(stdout, "has not been taken up by a host)") {
		t.Errorf("exit code %d, want 0: %s", code, stdout)
	}
	s.Kubectl("-n", s.Namespace, "delete", "controllerrevisions", "--all")
	stdout, _, code = explain("thing-1")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	mustContain(t, stdout, []string{"which can't be had here: no such revision is kept", "! it fails: HookFailed: sync hook: ", "not this one", "log: seen (hidden) thing-1\n"}, []string{"very-secret"})

	s.Apply(s.hooks("export function sync("))
	stdout, _, code = explain("thing-1", "-o", "json")
	if code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	mustContain(t, stdout, []string{`"error": "it can't be run here: `, `"parent": "Thing ` + s.Namespace + `/thing-1"`}, nil)
}

// TestExplainWaits tells of children that wait: for their deletion, and for their turn.
func TestExplainWaits(t *testing.T) {
	t.Parallel()
	const text = `
export function sync({parent}) {
  const {name} = parent.metadata;
  const pod = (i) => ({apiVersion: "v1", kind: "Pod", metadata: {name: name + "-" + i}, spec: {containers: [{name: "main", image: parent.spec.text}]}});
  return {children: [
    {apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {text: parent.spec.text}}, pod(0), pod(1)]};
}`
	e := env.NewRunning(t)
	e.DefineReady(env.Composite, "", "generateSelector: true", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things, revisionHistory: {fieldPaths: [spec.text]}}", e.Group),
		"childResources:",
		"- {apiVersion: v1, resource: configmaps, updateStrategy: {method: OnDelete}}",
		"- {apiVersion: v1, resource: pods, updateStrategy: {method: RollingRecreate, statusChecks: {conditions: [{type: Never, status: \"True\"}]}}}",
		env.Hooks(text, "sync"))
	e.ApplyThing("thing", "", "text: one")
	thing := e.Get(e.Things(), "thing")
	e.WaitFor(env.Pods, "thing-1", env.OwnedBy(thing))
	e.Patch(e.Things(), "thing", `{"spec": {"text": "two"}}`)
	e.Eventually(func() error { // The first Pod is recreated, and never gets the condition.
		stdout, stderr, code := libretto(e, "explain", "things."+e.Group+"/thing", "-n", e.Namespace, "--kubeconfig", e.Cluster.Kubeconfig)
		if code != 1 || stderr != "" {
			return fmt.Errorf("exit code %d, want 1: %s%s", code, stdout, stderr)
		}
		for _, want := range []string{
			"= leave ConfigMap " + e.Namespace + "/thing: its update method is OnDelete", "data.text: \"one\" becomes \"two\"\n",
			"= leave Pod " + e.Namespace + "/thing-1: it waits for its turn in the rollout\n",
			fmt.Sprintf("= the rollout: RolloutWaiting: Pod %s/thing-1 waits for Pod %[1]s/thing-0, which has no condition Never yet\n", e.Namespace),
			"\nevents, the last one first:\n", " Normal Recreated: Recreating 1 Pod: thing-0",
		} {
			if !strings.Contains(stdout, want) {
				return fmt.Errorf("no %q in:\n%s", want, stdout)
			}
		}
		return nil
	})
}
