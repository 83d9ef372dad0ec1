// Package diff runs libretto diff on the real API server, with the parents and children that a host has made there.
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

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// script makes children of several kinds, to which the API server adds defaults.
const script = `
export function customize(request) {
  return {relatedResources: [{apiVersion: "v1", resource: "configmaps", namespace: request.parent.metadata.namespace, names: ["settings"]}]};
}
export function sync(request) {
  const name = request.parent.metadata.name;
  const labels = {app: name};
  const settings = Object.values(request.related["ConfigMap.v1"])[0];
  return {
    status: {mode: settings.data.mode},
    children: [
      {apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {mode: settings.data.mode}},
      {apiVersion: "v1", kind: "Secret", metadata: {name}, stringData: {password: "very-secret-one"}},
      {apiVersion: "v1", kind: "Service", metadata: {name}, spec: {selector: labels, ports: [{port: 80}]}},
      {apiVersion: "apps/v1", kind: "Deployment", metadata: {name}, spec: {replicas: 0, selector: {matchLabels: labels},
        template: {metadata: {labels}, spec: {containers: [{name: "main", image: "app:one"}]}}}},
      {apiVersion: "v1", kind: "Pod", metadata: {name}, spec: {containers: [{name: "main", image: "app:one"}]}},
    ],
  };
}`

// scene is a definition whose scripts are in a ConfigMap, and its settled parents.
type scene struct {
	*env.Env
	name string
}

// parents is how many parents a scene has.
const parents = 3

func newScene(t *testing.T) *scene {
	t.Helper()
	e := env.NewRunning(t)
	e.Apply("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {mode: fast}")
	s := &scene{Env: e}
	e.Apply(s.hooks(script))
	s.name = e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", ""),
		"childResources:",
		"- {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}",
		"- {apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}}",
		"- {apiVersion: v1, resource: services, updateStrategy: {method: InPlace}}",
		"- {apiVersion: apps/v1, resource: deployments, updateStrategy: {method: InPlace}}",
		"- {apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}",
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: hooks}}]", e.Namespace),
		"hooks: {sync: {version: v2, script: {path: sync.js}}, customize: {version: v2, script: {path: sync.js}}}")
	for i := range parents {
		e.ApplyThing(fmt.Sprintf("thing-%d", i), "", "")
	}
	for i := range parents {
		name := fmt.Sprintf("thing-%d", i)
		e.WaitFor(env.Pods, name, env.OwnedBy(e.Get(e.Things(), name)))
		e.WaitFor(e.Things(), name, env.HasField("fast", "status", "mode"))
	}
	return s
}

// hooks returns the ConfigMap of the scripts with a text.
func (s *scene) hooks(text string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hooks, namespace: %s}\ndata:\n  sync.js: |\n    %s\n",
		s.Namespace, strings.ReplaceAll(text, "\n", "\n    "))
}

// diff runs the command with a text, and returns what it prints and its exit code.
func (s *scene) diff(kubeconfig, text string, args ...string) (stdout, stderr string, code int) {
	s.T.Helper()
	return s.diffFile(kubeconfig, s.hooks(text), args...)
}

// diffFile runs the command with a file.
func (s *scene) diffFile(kubeconfig, document string, args ...string) (stdout, stderr string, code int) {
	s.T.Helper()
	file := filepath.Join(s.T.TempDir(), "hooks.yaml")
	s.NoError(os.WriteFile(file, []byte(document), 0o600))
	program, err := cluster.Binary("libretto")
	s.NoError(err)
	command := exec.CommandContext(s.T.Context(), program, append([]string{"diff", "--kubeconfig", kubeconfig, "-n", s.Namespace, "-f", file}, args...)...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := command.Run(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		s.NoError(err)
	}
	return out.String(), errs.String(), code
}

// reader returns the kubeconfig of a user who may read what the command needs, and nothing else.
func (s *scene) reader() string {
	u := s.NewUser("author")
	for _, namespaced := range []struct{ group, resources string }{
		{s.Group, "things"}, {"", "configmaps,secrets,services,pods"}, {"apps", "deployments,controllerrevisions"},
	} {
		u.Grant(s.Namespace, namespaced.group, namespaced.resources, "get", "list")
	}
	u.Grant("", "metacontroller.k8s.io", "compositecontrollers,decoratorcontrollers,mapcontrollers", "get", "list")
	u.Grant("", "libretto.dev", "namespacedcompositecontrollers,namespaceddecoratorcontrollers,namespacedmapcontrollers", "list")
	u.Grant("", "apiextensions.k8s.io", "customresourcedefinitions", "get", "list")
	return u.Kubeconfig()
}

// TestDiff shows what edits of a script would do: the accidents first.
func TestDiff(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	kubeconfig := s.reader()
	edited := func(old, text string) string {
		if !strings.Contains(script, old) {
			t.Fatalf("the script has no %s", old)
		}
		return strings.Replace(script, old, text, 1)
	}
	cases := []struct {
		name, text string
		args       []string
		code       int
		want, not  []string
	}{
		{name: "the same text changes nothing: no default of the API server is a difference", text: script,
			want: []string{"CompositeController " + s.name + "\n\n3 parents: 3 unchanged, 0 update, 0 delete\n"}},
		{name: "no children by mistake", text: edited("children: [", "children: true ? [] : ["), code: 1, want: []string{
			"- delete 3 ConfigMaps of 3 parents\n", "- delete 3 Deployments of 3 parents\n", "- delete 3 Pods of 3 parents\n",
			"- delete 3 Secrets of 3 parents\n", "- delete 3 Services of 3 parents\n    " + s.Namespace + "/thing-0\n",
			"3 parents: 0 unchanged, 0 update, 3 delete 3 ConfigMaps and 3 Deployments and 3 Pods and 3 Secrets and 3 Services\n",
		}},
		{name: "it is allowed", text: edited("children: [", "children: true ? [] : ["), args: []string{"--allow-deletes", "-o", "markdown"}, want: []string{
			"### CompositeController " + s.name + "\n\n**3 parents: ", "\n```diff\n! a host would hold this edit, ", "\n- delete 3 ConfigMaps"}},
		{name: "one more field in a Pod", text: edited(`"Pod", metadata: {name}, spec: {`, `"Pod", metadata: {name}, spec: {terminationGracePeriodSeconds: 5, `), code: 1,
			want: []string{"-/+ recreate 3 Pods of 3 parents\n      spec.terminationGracePeriodSeconds: 30 becomes 5\n", "0 update, 3 recreate 3 Pods, 0 delete\n"},
			not:  []string{"schedulerName", "tolerations"}},
		{name: "an image", text: edited(`name: "main", image: "app:one"}]}}}}`, `name: "main", image: "app:two"}]}}}}`), want: []string{
			"~ update 3 Deployments of 3 parents\n      spec.template.spec.containers[name=main].image: \"app:one\" becomes \"app:two\"\n",
			"3 parents: 0 unchanged, 3 update, 0 delete\n"}},
		{name: "a Secret", text: edited("very-secret-one", "very-secret-two"),
			want: []string{"~ update 3 Secrets of 3 parents\n      data.password: (hidden) becomes (hidden)\n"}, not: []string{"very-secret"}},
		{name: "an error", text: edited("status: {mode", "status: {mode: settings.none.mode, other"), code: 1,
			want: []string{"! 3 parents fail: ", "hooks.yaml:", "3 parents: 0 unchanged, 0 update, 0 delete, 3 fail\n"}},
		{name: "an error of one parent", text: edited("const labels", `if (name === "thing-1") throw new Error("not this one"); const labels`), code: 1,
			want: []string{"! 1 parent fails: ", "not this one", "    Thing " + s.Namespace + "/thing-1\n", "3 parents: 2 unchanged, 0 update, 0 delete, 1 fail\n"}},
		{name: "a status", text: edited("status: {mode", "status: {other: 1, mode"),
			want: []string{"~ update status 3 Things of 3 parents\n      status.other: nothing becomes 1\n", "0 unchanged, 3 status only, 0 update"}},
		{name: "one parent", text: edited("very-secret-one", "very-secret-two"), args: []string{"--max-parents", "1"},
			want: []string{"1 parent: 0 unchanged, 1 update, 0 delete\n"}},
		{name: "a name that is taken", text: edited(`"ConfigMap", metadata: {name}`, `"ConfigMap", metadata: {name: "settings"}`), code: 1,
			want: []string{"! 3 parents fail: ", "settings"}},
		{name: "a text that does not load", text: "export function sync(", code: 2},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, code := s.diff(kubeconfig, c.text, c.args...)
			if code != c.code {
				t.Errorf("exit code %d, want %d: %s", code, c.code, stderr)
			}
			for _, want := range c.want {
				if !strings.Contains(stdout, want) {
					t.Errorf("no %q in:\n%s%s", want, stdout, stderr)
				}
			}
			for _, not := range c.not {
				if strings.Contains(stdout+stderr, not) {
					t.Errorf("%q is in:\n%s%s", not, stdout, stderr)
				}
			}
		})
	}
}

// TestRequests counts what the command asks the API server for, and names the rule that a caller lacks.
func TestRequests(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	kubeconfig := s.reader()
	mark := s.Mark()
	if _, stderr, code := s.diff(kubeconfig, script); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	all, err := s.Cluster.Requests(t.Context(), mark, env.UserAgent)
	s.NoError(err)
	own := all.Filter(func(r cluster.Request) bool { return strings.HasSuffix(r.User, s.Namespace+":author") })
	if writes := own.Writes(); len(writes) > 0 {
		t.Errorf("it writes: %v", writes)
	}
	if lists := own.In(s.Namespace).Verbs("list"); len(lists) != 6 {
		t.Errorf("%d lists, want one for the parents and one for each kind of children: %v", len(lists), lists)
	}
	if gets := own.Of("", "configmaps").Verbs("get"); len(gets) != 1 {
		t.Errorf("%d related objects were read, want one for all parents: %v", len(gets), gets)
	}
	stranger := s.NewUser("stranger")
	stranger.Grant("", "metacontroller.k8s.io", "compositecontrollers,decoratorcontrollers,mapcontrollers", "get", "list")
	_, stderr, code := s.diff(stranger.Kubeconfig(), script)
	want := fmt.Sprintf("you may not list things.%s in namespace %s: it takes a Role with the rule {apiGroups: [%q], resources: [things], verbs: [list]}",
		s.Group, s.Namespace, s.Group)
	if code != 2 || !strings.Contains(stderr, want) {
		t.Errorf("exit code %d, want 2, and no %q in: %s", code, want, stderr)
	}
}

// TestKinds gives definitions of all kinds as they are, and then with another script: nothing else differs.
func TestKinds(t *testing.T) {
	t.Parallel()
	const one = `
const child = (name, value) => ({apiVersion: "v1", kind: "ConfigMap", metadata: {name}, data: {text: value}});
export function sync(request) { const o = request.parent || request.object; return {children: [child(o.metadata.name + "-c", "one")], attachments: [child(o.metadata.name + "-a", "one")]}; }
export function map(request) { return {outputs: [child(request.input.metadata.name + "-o", "one")]}; }`
	const rule = "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}, applyStrategy: STRATEGY}"
	const orphan = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: orphan, labels: {app: parent}}\ndata: {text: mine}"
	for name, c := range map[string]struct {
		kind, child string
		spec        func(*env.Env) []string
	}{
		"composite": {env.Composite, "parent-c", func(e *env.Env) []string {
			return []string{"generateSelector: true", e.Parent("things", ""), "childResources: [" + rule + "]"}
		}},
		"composite, server-side": {env.Composite, "parent-c", func(e *env.Env) []string {
			return []string{"generateSelector: true", e.Parent("things", ""), "childResources: [" + strings.Replace(rule, "STRATEGY", "ServerSideApply", 1) + "]"}
		}},
		"decorator": {env.Decorator, "parent-a", func(e *env.Env) []string {
			return []string{e.Targets("things", ""), "attachments: [" + rule + "]"}
		}},
		"map": {env.Map, "input-o", func(e *env.Env) []string {
			return []string{e.Parent("things", ""), "inputResources: [{apiVersion: v1, resource: services}]", "outputResources: [" + rule + "]"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := env.NewRunning(t)
			hook, answers := "sync", one
			switch c.kind {
			case env.Map:
				hook = "map"
			case env.Decorator:
				answers = strings.Replace(one, `children: [child(o.metadata.name + "-c", "one")], `, "", 1)
			default:
				answers = strings.Replace(one, `, attachments: [child(o.metadata.name + "-a", "one")]`, "", 1)
			}
			s := &scene{Env: e}
			spec := func(answers string) []string {
				lines := append(c.spec(e), env.Hooks(answers, hook))
				for i := range lines {
					lines[i] = strings.Replace(lines[i], "STRATEGY", "DynamicApply", 1)
				}
				return lines
			}
			s.name = e.DefineReady(c.kind, "", spec(answers)...)
			e.Apply(orphan)
			e.Apply("apiVersion: v1\nkind: Service\nmetadata: {name: input, labels: {app: parent}}\nspec: {ports: [{port: 80}]}")
			e.ApplyThing("parent", "", "selector: {matchLabels: {app: parent}}")
			e.WaitFor(env.ConfigMaps, c.child, env.HasText("one"))
			document := func(answers string) string {
				return fmt.Sprintf("apiVersion: metacontroller.k8s.io/v1alpha1\nkind: %s\nmetadata: {name: %s}\nspec:\n%s\n", c.kind, s.name,
					env.Indent(strings.Join(spec(answers), "\n")))
			}
			e.Eventually(func() error { // The status may be on its way.
				stdout, stderr, code := s.diffFile(e.Cluster.Kubeconfig, document(answers))
				if want := "\n1 parent: 1 unchanged, 0 update, 0 delete\n"; code != 0 || !strings.Contains(stdout, want) {
					return fmt.Errorf("exit code %d, no %q in:\n%s%s", code, want, stdout, stderr)
				}
				return nil
			})
			stdout, stderr, code := s.diffFile(e.Cluster.Kubeconfig, document(strings.ReplaceAll(answers, `"one"`, `"two"`)))
			mustContain(t, stdout, []string{
				"~ update 1 ConfigMap of 1 parent\n      data.text: \"one\" becomes \"two\"\n    " + e.Namespace + "/" + c.child + "\n",
				"\n1 parent: 0 unchanged, 1 update, 0 delete\n",
			}, nil)
			if code != 0 {
				t.Errorf("exit code %d:\n%s%s", code, stdout, stderr)
			}
		})
	}
}
