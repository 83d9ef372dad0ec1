package explore

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
)

const header = "apiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\n"

// greetingCases are ordinary cases of examples/hello.
const greetingCases = header + `definition: hello.yaml
given: [greeting.yaml]
cases:
- name: greets
  want: {status: {text: "Hello, world!"}}
- name: an edit changes the text
  steps:
  - want: {status: {text: "Hello, world!"}}
  - apply: [{kind: Greeting, metadata: {name: world}, spec: {who: moon}}]
    want: {status: {text: "Hello, moon!"}}
`

// serviceCases are ordinary cases of examples/decorator.
const serviceCases = header + `given: [statefulset.yaml]
cases:
- name: each Pod gets a Service
  want: {counts: {Service: 2}}
- name: the Services go with the StatefulSet
  steps:
  - {}
  - delete: [StatefulSet/web]
    want: {finalized: true, absent: [{kind: Service}]}
`

// setCases are ordinary cases of examples/catset.
const setCases = header + `given: [catset.yaml]
namespace: demo
cases:
- name: makes Pods with claims
  want: {status: {replicas: 3, readyReplicas: 3}, counts: {Pod: 3, PersistentVolumeClaim: 3}}
`

// planted is a copy of an example with a fault.
type planted struct {
	example, reason, cases string
	// replace are texts of a file and what takes their place, in turn.
	file    string
	replace []string
	// found is a part of the message.
	found string
}

// greeting replaces the script of examples/hello from the return on.
func greeting(reason, script, found string, more ...string) planted {
	const old = `return {
        status: { text },
        children: [{
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: ` + "`${parent.metadata.name}-greeting`" + ` },
          data: { text },
        }],
      };`
	helpers := "const make = (kind, name, more) => ({ apiVersion: \"v1\", kind, metadata: { name }, ...more });\n" +
		"      const find = (kind, name) => Object.values(children[kind]).find((o) => o.metadata.name === name);\n      "
	return planted{
		example: "hello", reason: reason, cases: greetingCases, file: "hello.yaml", found: found,
		replace: append([]string{"sync({ parent })", "sync({ parent, children })", old, helpers + strings.TrimSpace(script)}, more...),
	}
}

var withPods = []string{
	"  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}",
	"  - {apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}\n  - {apiVersion: v1, resource: pods, updateStrategy: {method: InPlace}}",
}

var faultsPlanted = map[string]planted{
	"time in a name": greeting("a child that is made anew has another name", `
      const old = Object.values(children["ConfigMap.v1"])[0]?.metadata.name;
      return { status: { text }, children: [make("ConfigMap", old ?? `+"`greeting-${Math.floor(Date.now() / 1000)}`"+`, { data: { text } })] };`,
		"another end"),
	"creation that is taken to have succeeded": greeting("the status is written even if a child is refused", `
      const made = Object.values(children["ConfigMap.v1"]).map(({ metadata: { name }, data }) => make("ConfigMap", name, { data: { ...data, text } }));
      return { status: { text, phase: "Made" }, children: parent.status?.phase === "Made" ? made : [make("ConfigMap", "greeting", { data: { text } })] };`,
		"another end"),
	"status as memory": greeting("a status may be lost, as in a restored backup", `
      return { status: { text, first: parent.status?.first ?? parent.spec.who }, children: [make("ConfigMap", "greeting", { data: { text } })] };`,
		"the status of Greeting/default/world is lost"),
	"child that only the first pass makes": greeting("what was made can be deleted", `
      const settings = find("ConfigMap.v1", "settings");
      const first = parent.status === undefined || settings !== undefined;
      return {
        status: { text },
        children: [make("ConfigMap", "greeting", { data: { text } }), ...(first ? [make("ConfigMap", "settings", { data: { a: "b" } })] : [])],
      };`, "ConfigMap/default/settings"),
	"Secret that only the first pass makes": greeting("what was made can be deleted, and the case can be loaded without its values", `
      const settings = find("Secret.v1", "settings");
      const first = parent.status === undefined || settings !== undefined;
      return {
        status: { text },
        children: [make("ConfigMap", "greeting", { data: { text } }), ...(first ? [make("Secret", "settings", { data: { a: "aHVudGVyMg==" } })] : [])],
      };`, "Secret/default/settings",
		withPods[0], withPods[0]+"\n  - {apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}}"),
	"counting in the status": greeting("passes are made more often than expected", `
      const there = find("ConfigMap.v1", "greeting") !== undefined;
      return { status: { text, attempts: (parent.status?.attempts ?? 0) + (there ? 0 : 1) }, children: [make("ConfigMap", "greeting", { data: { text } })] };`,
		"another end"),
	"waiting for a child of its own": greeting("a hook that waits makes nothing", `
      const there = find("ConfigMap.v1", "greeting") !== undefined;
      if (parent.status?.made && !there) return { status: { text, made: true }, waiting: { reason: "Gone", message: "it was there" } };
      return { status: { text, made: there }, children: [make("ConfigMap", "greeting", { data: { text } })] };`,
		"ConfigMap/default/greeting"),
	"order of children": greeting("ages change when a child is made anew", `
      const age = (child) => child.metadata.creationTimestamp + child.metadata.name;
      const oldest = Object.values(children["ConfigMap.v1"]).sort((a, b) => (age(a) < age(b) ? -1 : 1))[0];
      return {
        status: { text, leader: oldest?.metadata.name ?? "a" },
        children: [make("ConfigMap", "a", { data: { text } }), make("ConfigMap", "b", { data: { text } })],
      };`, "another end"),
	"creation in one pass": greeting("a pass can end between two writes", `
      if (find("ConfigMap.v1", "a") && !find("ConfigMap.v1", "b")) throw new Error("a without b");
      return { status: { text }, children: [make("ConfigMap", "a", { data: { text } }), make("ConfigMap", "b", { data: { text } })] };`,
		"a without b"),
	"first that is ready": greeting("Pods become ready in any order", `
      const spec = { containers: [{ name: "a", image: "b" }] };
      const isReady = (pod) => pod.status?.conditions?.some((c) => c.type === "Ready" && c.status === "True");
      const ready = Object.values(children["Pod.v1"]).find(isReady);
      return {
        status: { text, leader: parent.status?.leader ?? ready?.metadata.name },
        children: [make("Pod", "a", { spec }), make("Pod", "b", { spec })],
      };`, "another end", withPods...),
	"unready once, failed for ever": {
		example: "catset", reason: "a Pod can lose its readiness and get it back", cases: setCases, file: "sync.js", found: "another end",
		replace: []string{
			"    status: newStatus(set, pods),", "    status: { ...newStatus(set, pods), failed: failedPods(set, pods) },",
			"const claimTemplates =", `const failedPods = (set, pods) => {
  const known = set.status?.failed ?? [];
  const lost = [...pods.values()].filter((pod) => pod.status?.conditions?.some((c) => c.type === "Ready" && c.status === "False"));
  return [...new Set([...known, ...lost.map((pod) => pod.metadata.name)])].sort();
};
const claimTemplates =`,
		},
	},
	"deleted child that is forgotten": {
		example: "decorator", reason: "another client deletes what was made", cases: serviceCases, file: "hooks.js", found: "Service/default/web-",
		replace: []string{
			"sync({ object })", "sync({ object, attachments })",
			"return { attachments: podNames(object).map((name) => service(name, ports)) };",
			`const made = (object.metadata.annotations.made ?? "").split(",");
      const there = (name) => attachments["Service.v1"]["default/" + name] !== undefined;
      return {
        annotations: { made: podNames(object).join(",") },
        attachments: podNames(object).filter((name) => there(name) || !made.includes(name)).map((name) => service(name, ports)),
      };`,
		},
	},
	"finalizer that needs its children": {
		example: "decorator", reason: "children can be gone before their parent", cases: serviceCases, file: "hooks.js", found: "fails",
		replace: []string{
			"finalize() {", "finalize({ attachments }) {\n      if (attachments[\"Service.v1\"][\"default/web-0\"].spec.ports.length === 0) throw new Error(\"no ports\");",
		},
	},
}

// copyOf returns a folder with a copy of the example and its fault.
func (p planted) copyOf(t *testing.T) string {
	t.Helper()
	from, to := filepath.Join("..", "..", "..", "..", "..", "examples", p.example), t.TempDir()
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() || strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), controllertest.FileSuffix) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if entry.Name() == p.file {
			text = []byte(p.plant(t, string(text)))
		}
		write(t, filepath.Join(to, entry.Name()), string(text))
	}
	write(t, filepath.Join(to, "a_test.yaml"), p.cases)
	return to
}

func (p planted) plant(t *testing.T, text string) string {
	t.Helper()
	for i := 0; i < len(p.replace); i += 2 {
		next := strings.Replace(text, p.replace[i], p.replace[i+1], 1)
		if next == text {
			t.Fatalf("%s has no %q", p.file, p.replace[i])
		}
		text = next
	}
	return text
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestPlanted shows that ordinary cases miss faults which exploring finds, and that the case of a failing path fails.
func TestPlanted(t *testing.T) {
	for name, p := range faultsPlanted {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := p.copyOf(t)
			file := filepath.Join(folder, "a_test.yaml")
			for _, r := range runFile(t, file, nil) {
				if r.Outcome != controllertest.Passed {
					describe(t, r)
					t.Fatalf("the case %q finds the fault without exploring", r.Name)
				}
			}
			var found []controllertest.Failure
			for _, r := range runFile(t, file, &Explorer{Options: Options{Paths: 150, Workers: 1}}) {
				found = append(found, r.Failures...)
			}
			if len(found) == 0 {
				t.Fatalf("not found, although %s", p.reason)
			}
			text := ""
			for _, f := range found {
				text += f.Message + "\n" + strings.Join(f.Diff, "\n") + "\n"
				p.expectFails(t, file, f)
			}
			if !strings.Contains(text, p.found) {
				t.Errorf("what is found has no %q:\n%s", p.found, text)
			}
		})
	}
}

// expectFails pastes the case of a failing path into the file, and runs it.
func (p planted) expectFails(t *testing.T, file string, f controllertest.Failure) {
	t.Helper()
	if f.Case == "" {
		t.Errorf("no case for: %s", f.Message)
		return
	}
	pasted := strings.TrimSuffix(file, "a_test.yaml") + "pasted_test.yaml"
	write(t, pasted, p.cases+f.Case)
	results := runFile(t, pasted, nil)
	for i, r := range results {
		if last := i == len(results)-1; last != (r.Outcome == controllertest.Failed) {
			describe(t, r)
			t.Errorf("%s: %s: %s\n%s", f.Message, r.Name, r.Outcome, f.Case)
		}
	}
}
