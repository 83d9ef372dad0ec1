package diff

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// libretto runs a command, and returns what it prints and its exit code.
func libretto(e *env.Env, args ...string) (stdout, stderr string, code int) {
	e.T.Helper()
	program, err := cluster.Binary("libretto")
	e.NoError(err)
	command := exec.CommandContext(e.T.Context(), program, args...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := command.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		e.NoError(err)
	}
	return out.String(), errs.String(), code
}

// testFile runs a captured file beside another definition, which it must not mind.
func testFile(e *env.Env, text string, cases int) {
	e.T.Helper()
	folder := e.T.TempDir()
	other := "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: DecoratorController\nmetadata: {name: other}\nspec: {}\n"
	for name, text := range map[string]string{"shop_test.yaml": text, "other.yaml": other} {
		e.NoError(os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	stdout, stderr, code := libretto(e, "test", folder)
	if code != 0 || !strings.Contains(stdout, fmt.Sprintf("%d passed", cases)) {
		e.T.Errorf("libretto test: exit code %d:\n%s%s\n%s", code, stdout, stderr, text)
	}
}

func mustContain(t *testing.T, text string, want, not []string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in:\n%s", part, text)
		}
	}
	for _, part := range not {
		if strings.Contains(text, part) {
			t.Errorf("%q is in:\n%s", part, text)
		}
	}
}

// TestCapture captures a parent, which passes offline, and has no secrets.
func TestCapture(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	kubeconfig := s.reader()
	for _, name := range []string{"things." + s.Group + "/thing-0", "Thing.v1." + s.Group + "/thing-0"} {
		stdout, stderr, code := libretto(s.Env, "capture", name, "-n", s.Namespace, "--kubeconfig", kubeconfig)
		if code != 0 || stderr != "" {
			t.Fatalf("%s: exit code %d: %s\n%s", name, code, stderr, stdout)
		}
		mustContain(t, stdout, []string{
			"# Thing " + s.Namespace + "/thing-0 as it was in a cluster at ", "# Redacted to (hidden), with the keys kept: ", "Secret " + s.Namespace + "/thing-0",
			"kind: CompositeController\n", "kind: CustomResourceDefinition\n", "  sync.js: |", "password: (hidden)", "name: settings\n", "ready: none\n",
		}, []string{"very-secret", "dmVyeS1zZWNyZXQ", "managedFields:\n", "resourceVersion:", "skipChecks", "Problem", "thing-1"})
		testFile(s.Env, stdout, 1)
	}
}

// TestCaptureFailure captures a parent whose hook fails, and one whose related objects the caller may not read.
func TestCaptureFailure(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	before := s.ScriptRevision(s.name)
	s.Apply(s.hooks(strings.Replace(script, "const labels", `if (request.parent.spec?.bad) throw new Error("not (this) one"); const labels`, 1)))
	s.Eventually(func() error { // It would be held if the parent failed by then.
		if s.ScriptRevision(s.name) == before {
			return fmt.Errorf("revision %s still serves", before)
		}
		return nil
	})
	s.Patch(s.Things(), "thing-1", `{"spec": {"bad": true}}`)
	author := s.reader()
	args := []string{"capture", "things." + s.Group + "/thing-1", "-n", s.Namespace, "--kubeconfig"}
	var stdout, stderr string
	var code int
	s.Eventually(func() error { // The command lists what is there.
		if stdout, stderr, code = libretto(s.Env, append(args, author)...); code != 0 || stderr != "" || !strings.Contains(stdout, "fails: ") {
			return fmt.Errorf("exit code %d: %s%s", code, stderr, stdout)
		}
		return nil
	})
	mustContain(t, stdout, []string{"fails: ", `not \(this\) one`}, []string{"very-secret", "want:"})
	testFile(s.Env, stdout, 1)

	stranger := s.NewUser("stranger")
	stranger.Grant("", "metacontroller.k8s.io", "compositecontrollers,decoratorcontrollers,mapcontrollers", "get", "list")
	stdout, stderr, code = libretto(s.Env, append(args, stranger.Kubeconfig())...)
	if code != 2 || stdout != "" || !strings.Contains(stderr, "you may not get things") {
		t.Errorf("exit code %d, want 2: %s\n%s", code, stderr, stdout)
	}
	stdout, stderr, code = libretto(s.Env, "capture", "configmap/settings", "-n", s.Namespace, "--kubeconfig", author)
	if code != 2 || stdout != "" || !strings.Contains(stderr, "no definition of the cluster looks after it") {
		t.Errorf("exit code %d, want 2: %s\n%s", code, stderr, stdout)
	}
}

// TestCaptureKinds captures parents that two definitions of different kinds look after, one of which applies its child by the server.
func TestCaptureKinds(t *testing.T) {
	t.Parallel()
	const text = `
const child = (name) => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {text: "one"}});
export function sync({parent}) { return {children: [child(parent.metadata.name + "-c")]}; }
export function decorate({object}) { return {attachments: [child(object.metadata.name + "-a")], annotations: {seen: "yes"}}; }
export function map({input}) { return {outputs: [child(input.metadata.name + "-o")]}; }`
	e := env.NewRunning(t)
	e.Apply("apiVersion: v1\nkind: Service\nmetadata: {name: input, labels: {app: parent}}\nspec: {ports: [{port: 80}]}")
	e.ApplyThing("one", "set: one", "")
	e.ApplyThing("two", "set: two", "selector: {matchLabels: {app: parent}}")
	const rule = "[{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}"
	e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", "one"), "childResources: "+rule+", applyStrategy: ServerSideApply}]",
		env.Hooks(text, "sync"))
	e.DefineReady(env.Decorator, "", e.Targets("things", ""), "attachments: "+rule+"}]",
		env.Hooks(strings.NewReplacer("sync(", "other(", "decorate(", "sync(").Replace(text), "sync"))
	e.DefineReady(env.Map, "", e.Parent("things", "two"), "inputResources: [{apiVersion: v1, resource: services}]", "outputResources: "+rule+"}]",
		env.Hooks(text, "map"))
	for _, name := range []string{"one-c", "one-a", "two-a", "input-o"} {
		e.WaitFor(env.ConfigMaps, name, env.HasText("one"))
	}
	for name, kind := range map[string]string{"one": env.Composite, "two": env.Map} {
		args := []string{"things." + e.Group + "/" + name, "-n", e.Namespace, "--kubeconfig", e.Cluster.Kubeconfig}
		e.Eventually(func() error { // The status may be on its way.
			stdout, stderr, code := libretto(e, append([]string{"explain"}, args...)...)
			if code != 0 || strings.Count(stdout, "is as wanted by ") != 2 || strings.Count(stdout, ": 1 ConfigMap; looked at again") != 2 {
				return fmt.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
			}
			return nil
		})
		stdout, stderr, code := libretto(e, append([]string{"capture"}, args...)...)
		if code != 0 || stderr != "" {
			t.Fatalf("exit code %d: %s\n%s", code, stderr, stdout)
		}
		mustContain(t, stdout, []string{"definitionRef: " + kind + "/", "definitionRef: DecoratorController/"}, []string{"skipChecks"})
		testFile(e, stdout, 2)
	}
}
