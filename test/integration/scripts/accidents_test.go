package scripts_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// accident is an edit that loads and is wrong.
type accident struct {
	parents, children int // children of each parent
	child             string
	resource          schema.GroupVersionResource
	good, wrong       string // scripts
	// held is what the host says of it.
	held string
	// fails is set if all parents fail by it.
	fails bool
}

// greeting makes one ConfigMap of each Thing.
const greeting = `export function sync({parent}) {
  const child = {apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-greeting"}, data: {text: "hello"}};
  return {status: {said: "hello"}, children: [child]};
}
`

// replicas makes five Pods of a Thing, with the fields of a container.
func replicas(fields string) string {
	return `export function sync({parent}) {
  const pod = (n) => ({
    apiVersion: "v1", kind: "Pod", metadata: {name: parent.metadata.name + "-" + n},
    spec: {containers: [{name: "main", image: "example.com/main:1"` + fields + `}]},
  });
  return {status: {said: "pods"}, children: [0, 1, 2, 3, 4].map(pod)};
}
`
}

var accidents = map[string]accident{
	"no children by mistake": {
		parents: 9, children: 1, resource: env.ConfigMaps,
		child: "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}",
		good:  greeting, wrong: strings.Replace(greeting, "children: [child]", "children: []", 1),
		held: "it would delete 9 of 9 children of 9 of 9 parents, first ConfigMap NAMESPACE/t0-greeting",
	},
	"one field more in a Pod": {
		parents: 1, children: 5, resource: env.Pods,
		child: `{apiVersion: v1, resource: pods, updateStrategy: {method: RollingRecreate, statusChecks: {conditions: [{type: Ready, status: "True"}]}}}`,
		good:  replicas(""), wrong: replicas(`, env: [{name: "DEBUG", value: "1"}]`),
		held: "it would recreate 5 of 5 children of 1 of 1 parents, first Pod NAMESPACE/t0-0",
	},
	"a TypeError on the first call": {
		parents: 9, children: 1, resource: env.ConfigMaps,
		child: "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}",
		good:  greeting, wrong: strings.Replace(greeting, "parent.metadata.name", "parent.metadata.labels.app.name", 1),
		held:  "9 of 9 parents that succeed now would fail, first Thing NAMESPACE/t0: HookFailed: sync hook: sync.js:2:",
		fails: true,
	},
	"a number where the API server wants a text": {
		parents: 9, children: 1, resource: env.ConfigMaps,
		child: "{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}",
		good:  greeting, wrong: strings.Replace(greeting, `text: "hello"}`, "text: 5}", 1),
		held: "9 of 9 parents that succeed now would fail, first Thing NAMESPACE/t0: ApplyFailed: ConfigMap NAMESPACE/t0-greeting: update: " +
			"ConfigMap in version \"v1\" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string",
		fails: true,
	},
	"Pods that could not come back": {
		parents: 1, children: 5, resource: env.Pods,
		child: "{apiVersion: v1, resource: pods, updateStrategy: {method: Recreate}}",
		good:  replicas(""), wrong: strings.Replace(replicas(""), `, image: "example.com/main:1"`, `, args: ["x"]`, 1),
		held: "it would recreate 5 of 5 children of 1 of 1 parents, first Pod NAMESPACE/t0-0; 1 of 1 parents that succeed now would fail, first Thing " +
			"NAMESPACE/t0: Pod NAMESPACE/t0-0 would be deleted, and could not be created again: " +
			"Pod \"t0-0\" is invalid: spec.containers[0].image: Required value",
	},
}

// begin applies the definition, the good script and the parents, and waits for the children.
func (a accident) begin(e *env.Env, spec string) (definition string) {
	e.T.Helper()
	definition = e.Namespace
	applyFiles(e, "hooks", "sync.js", a.good)
	e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things, revisionHistory: {fieldPaths: [spec]}}
  childResources: [%s]
  scriptSources: [%s]
  hooks: {sync: {version: v2, script: {path: sync.js}}}
%s
`, definition, e.Namespace, e.Group, a.child, source(e, "hooks"), spec))
	for n := range a.parents {
		e.ApplyThing(fmt.Sprintf("t%d", n), "", "")
	}
	a.waitForChildren(e, a.parents*a.children)
	waitUntilArchived(e, definition)
	e.WaitForQuiet()
	return definition
}

func (a accident) waitForChildren(e *env.Env, want int) {
	e.T.Helper()
	e.Eventually(func() error {
		if n := len(a.uids(e)); n != want {
			return fmt.Errorf("%d children, want %d", n, want)
		}
		return nil
	})
}

// uids returns those of all children, by name.
func (a accident) uids(e *env.Env) map[string]string {
	e.T.Helper()
	all := map[string]string{}
	for name, object := range e.List(a.resource, "") {
		if strings.HasPrefix(name, "t") && object.GetDeletionTimestamp() == nil {
			all[name] = string(object.GetUID())
		}
	}
	return all
}

// areWhole reports whether children are what they were.
func (a accident) areWhole(e *env.Env, before map[string]string) error {
	now := a.uids(e)
	for name, uid := range before {
		if now[name] != uid {
			return fmt.Errorf("%s was deleted or recreated: %v, before %v", name, now, before)
		}
	}
	return nil
}

// happen makes the edit, and waits until it is held: nothing is read or written for it but the status of the definition. It returns the
// command that lets it through.
func (a accident) happen(e *env.Env, definition string) (approve []string) {
	e.T.Helper()
	before, mark, good := a.uids(e), e.Mark(), e.ScriptRevision(definition)
	applyFiles(e, "hooks", "sync.js", a.wrong)
	held := e.WaitForCondition(definition, "Progressing", "False", "Held", strings.ReplaceAll(a.held, "NAMESPACE", e.Namespace),
		"revision "+good+" goes on serving", "correct the scripts, or let it through")
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Filter(func(r cluster.Request) bool {
		return r.Resource != "compositecontrollers" || r.Subresource != "status"
	}), "a preview makes no request but for the definition's status")
	e.NoError(a.areWhole(e, before))
	_, command, _ := strings.Cut(held.Message, "kubectl ")
	return strings.Fields(command)
}

// isTold checks what people see who know nothing of it.
func (a accident) isTold(e *env.Env, definition string) {
	e.T.Helper()
	table := e.Kubectl("get", "compositecontroller", definition)
	description := e.Kubectl("describe", "compositecontroller", definition)
	wide := e.Kubectl("get", "compositecontroller", definition, "-o", "wide")
	e.T.Logf("kubectl get:\n%s\nkubectl get -o wide:\n%s\nkubectl describe:\n%s", table, wide, description)
	held := strings.ReplaceAll(a.held, "NAMESPACE", e.Namespace)
	if !strings.Contains(table, "Held") || !strings.Contains(wide, held) {
		e.T.Errorf("kubectl get does not tell it:\n%s%s", table, wide)
	}
	if !strings.Contains(description, held) || !strings.Contains(description, "approved-revision=") {
		e.T.Errorf("kubectl describe does not tell it:\n%s", description)
	}
	e.WaitForEvent(definition, "Held", held)
}

// TestAccidents makes the accidents that people make. Each is held and reported, and deletes nothing. It ends by the text or by an approval. It is
// not parallel, so that all requests are its own.
func TestAccidents(t *testing.T) {
	for name, a := range accidents {
		t.Run(name, func(t *testing.T) {
			e := newRunning(t)
			definition := a.begin(e, "")
			before := a.uids(e)
			a.happen(e, definition)
			a.isTold(e, definition)
			applyFiles(e, "hooks", "sync.js", a.good)
			e.WaitForCondition(definition, "Progressing", "True", "Serving")
			e.WaitForCondition(definition, "ScriptsReady", "True", "Loaded")
			e.NoError(a.areWhole(e, before))

			e.Kubectl(a.happen(e, definition)...)
			e.WaitForCondition(definition, "Progressing", "True", "Serving")
			if a.fails {
				e.WaitForCondition(definition, "ParentsSynced", "False")
				e.NoError(a.areWhole(e, before))
				return
			}
			e.Eventually(func() error {
				if a.areWhole(e, before) == nil {
					return fmt.Errorf("the approved edit has done nothing to %v", before)
				}
				return nil
			})
		})
	}
}

// TestPreviewLimits holds an edit by a limit for all parents, and lets it through once the limit allows it. Without a limit nothing is held.
func TestPreviewLimits(t *testing.T) {
	t.Parallel()
	e, a := newRunning(t), accidents["no children by mistake"]
	definition := a.begin(e, "  scriptRollout: {preview: {maxDeletedChildren: 50%, maxFailingParents: 0}}")
	before := a.uids(e)
	limits := func(preview string) {
		e.PatchDefinition("CompositeController", definition, `{"spec": {"scriptRollout": {"preview": `+preview+`}}}`)
	}
	applyFiles(e, "hooks", "sync.js", a.wrong)
	e.WaitForCondition(definition, "Progressing", "False", "Held", "it would delete 9 of 9 children of 9 of 9 parents, "+
		"more than spec.scriptRollout.preview.maxDeletedChildren: 50% allows, first ConfigMap "+e.Namespace+"/t0-greeting")
	limits(`{"maxDeletedChildren": 8}`)
	e.WaitForCondition(definition, "Progressing", "False", "Held", "maxDeletedChildren: 8 allows")
	e.NoError(a.areWhole(e, before))
	limits(`{"maxDeletedChildren": 9}`)
	a.waitForChildren(e, 0)
	e.WaitForCondition(definition, "Progressing", "True", "Serving")

	applyFiles(e, "hooks", "sync.js", a.good)
	a.waitForChildren(e, 9)
	limits(`{"maxDeletedChildren": null, "maxFailingParents": null}`)
	e.WaitForCondition(definition, "Ready", "True")
	applyFiles(e, "hooks", "sync.js", a.wrong+"// once more\n")
	a.waitForChildren(e, 0)
}

// TestHostilePreviews edits a script so that its calls never end: it is held, and stops neither calls nor the edits of another definition.
func TestHostilePreviews(t *testing.T) {
	t.Parallel()
	e := newRunning(t, "--script-workers=2")
	applyFiles(e, "hooks", "sync.js", scriptSaying("one"))
	name := define(e, "", source(e, "hooks"))
	applyFiles(e, "others", "sync.js", scriptSaying("one"))
	define(e, "-other", source(e, "others"))
	e.ApplyThing("a", "not-other: \"\"", "")
	e.ApplyThing("b", "not: \"\"", "")
	waitForSaid(e, "a", "one")
	waitForSaid(e, "b", "one")
	applyFiles(e, "hooks", "sync.js", "export function sync() { for (;;) {} }\n")
	applyFiles(e, "others", "sync.js", scriptSaying("two"))
	e.ApplyThing("late", "not-other: \"\"", "")
	waitForSaid(e, "late", "one")
	cluster.Eventually(t, 2*time.Minute, func() error {
		if text := said(e.Get(e.Things(), "b")); text != "two" {
			return fmt.Errorf("b says %q, want %q", text, "two")
		}
		object, err := e.Cluster.Dynamic().Resource(env.CompositeControllers).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := e.ConditionOf(object, "Progressing")
		if c.Reason != "Held" || !strings.Contains(c.Message, "would fail, first Thing ") || !strings.Contains(c.Message, "HookTimedOut: sync hook: ") {
			return fmt.Errorf("condition %s: %s, want calls that time out", c.Reason, c.Message)
		}
		return nil
	})
	applyFiles(e, "hooks", "sync.js", scriptSaying("three"))
	waitForSaid(e, "late", "three")
	e.WaitForCondition(name, "Progressing", "True", "Serving")
}
