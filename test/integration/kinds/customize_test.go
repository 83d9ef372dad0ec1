package kinds

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// relating asks for what spec.rules says, and says in the status what it was shown: for each kind the keys with the texts.
const relating = `
export const customize = ({parent}) => ({relatedResources: JSON.parse(parent.spec.rules)});
export function sync({related}) {
  const shown = objects => Object.keys(objects).sort().map(key => key + (objects[key].data?.text ? "=" + objects[key].data.text : "")).join(" ");
  return {children: [], status: {said: Object.keys(related).sort().map(kind => kind + ": " + shown(related[kind])).join("; ")}};
}`

// relating applies a definition of Things with a label set whose hooks are of that version.
func defineRelating(e *env.Env, version string) string {
	e.T.Helper()
	script := fmt.Sprintf("{version: %s, script: {engine: JavaScript, inline: %s}}", version, env.Quote(relating))
	return e.DefineReady(env.Composite, "-"+version,
		fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: %s}}}", e.Group, version),
		fmt.Sprintf("generateSelector: true\nhooks: {sync: %s, customize: %s}", script, script))
}

// asker applies a Thing that asks for related objects.
func asker(e *env.Env, name, version, rules string) {
	e.T.Helper()
	e.ApplyThing(name, "set: "+version, "rules: "+env.Quote(rules))
}

// label changes the labels of a namespace.
func label(e *env.Env, namespace, labels string) {
	e.T.Helper()
	e.ClusterScope().Patch(env.Namespaces, namespace, `{"metadata": {"labels": `+labels+`}}`)
}

// shows checks what the hooks of a Thing were shown.
func shows(e *env.Env, name, want string) {
	e.T.Helper()
	e.WaitFor(e.Things(), name, env.HasSaid(want))
}

// TestRelatedObjects has a second namespace, the same but for its own name, beside the test's.
func TestRelatedObjects(t *testing.T) {
	e := env.NewRunning(t)
	here, there := e.Namespace, e.Cluster.Namespace(t)
	both := fmt.Sprintf("%s/one=1 %s/one=1", min(here, there), max(here, there))
	for _, namespace := range []string{here, there} {
		e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %s, labels: {colour: red}}, data: {text: \"1\"}}",
			namespace))
		e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: %s, labels: {colour: blue}}, data: {text: \"2\"}}", namespace))
	}
	defineRelating(e, "v1")
	defineRelating(e, "v2")
	cases := map[string]struct{ version, rules, want string }{
		"v2-names": {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one", "none"]}]`, "ConfigMap.v1: " + both},
		"v2-names-namespace": {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "` + there + `"}]`,
			"ConfigMap.v1: " + there + "/one=1"},
		"v2-labels": {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "red"}}}]`,
			"ConfigMap.v1: " + both},
		"v2-labels-namespace": {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "blue"}}, "namespace": "` + there + `"}]`, "ConfigMap.v1: " + there + "/two=2"},
		"v2-cluster":          {"v2", `[{"apiVersion": "v1", "resource": "namespaces", "names": ["` + here + `"]}]`, "Namespace.v1: " + here},
		"v2-union":            {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "` + here + `"}, {"apiVersion": "v1", "resource": "configmaps", "names": ["one", "two"], "namespace": "` + here + `"}, {"apiVersion": "v1", "resource": "pods", "names": ["none"]}]`, "ConfigMap.v1: " + here + "/one=1 " + here + "/two=2; Pod.v1: "},
		"v2-none":             {"v2", `[]`, ""},
		"v1-names":            {"v1", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"]}]`, "ConfigMap.v1: one=1"},
		"v1-labels": {"v1", `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "blue"}}}]`,
			"ConfigMap.v1: two=2"},
		"v1-own-namespace": {"v1", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["two"], "namespace": "` + here + `"}]`,
			"ConfigMap.v1: two=2"},
		"v1-cluster": {"v1", `[{"apiVersion": "v1", "resource": "namespaces", "names": ["` + here + `"]}]`, "Namespace.v1: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			asker(e, name, tc.version, tc.rules)
			shows(e, name, tc.want)
		})
	}
}

func TestWrongRelatedRules(t *testing.T) {
	e := env.NewRunning(t)
	defineRelating(e, "v1")
	defineRelating(e, "v2")
	e.ApplyConfigMap("one", "", "1")
	cases := map[string]struct{ version, rule, want string }{
		"v2-combined": {"v2", `{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "labelSelector": {}}`,
			"names can't be combined with labelSelector"},
		"v2-both-namespaces": {"v2", `{"apiVersion": "v1", "resource": "configmaps", "namespace": "default", "namespaceSelector": {}}`,
			"namespace can't be combined with namespaceSelector"},
		"v2-cluster": {"v2", `{"apiVersion": "v1", "resource": "nodes", "namespaceSelector": {}}`,
			"namespaceSelector: nodes are in no namespace"},
		"v2-unknown":   {"v2", `{"apiVersion": "v1", "resource": "configmap"}`, "configmap"},
		"v2-misspelt":  {"v2", `{"apiVersion": "v1", "resource": "configmaps", "label": {}}`, "label"},
		"v2-selector":  {"v2", `{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}`, "labelSelector.matchExpressions[0].operator: "},
		"v1-elsewhere": {"v1", `{"apiVersion": "v1", "resource": "configmaps", "namespace": "default"}`, "use version v2"},
		"v1-selected":  {"v1", `{"apiVersion": "v1", "resource": "configmaps", "namespaceSelector": {}}`, "use version v2"},
	}
	good := `{"apiVersion": "v1", "resource": "configmaps", "names": ["one"]}`
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			asker(e, name, tc.version, "["+good+", "+tc.rule+"]")
			e.WaitForEvent(name, "SyncError", "HookResponseInvalid: customize hook: relatedResources[1]: ", tc.want)
			asker(e, name, tc.version, "["+good+"]")
			e.WaitFor(e.Things(), name, func(o *unstructured.Unstructured) error {
				if said, _, _ := unstructured.NestedString(o.Object, "status", "said"); said == "" {
					return fmt.Errorf("%s still fails", name)
				}
				return nil
			})
		})
	}
}

func TestNamespacesThatComeAndGo(t *testing.T) {
	e := env.NewRunning(t)
	there := e.Cluster.Namespace(t)
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %s, labels: {colour: red}}, data: {text: \"1\"}}",
		there))
	defineRelating(e, "v2")
	asker(e, "asker", "v2", `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "red"}}, "namespaceSelector": {"matchLabels": {"tier": "`+there+`"}}}]`)
	shows(e, "asker", "ConfigMap.v1: ")
	for range 3 {
		label(e, there, `{"tier": "`+there+`"}`)
		shows(e, "asker", "ConfigMap.v1: "+there+"/one=1")
		label(e, there, `{"tier": "other"}`)
		shows(e, "asker", "ConfigMap.v1: ")
	}
	label(e, there, `{"tier": "`+there+`"}`)
	shows(e, "asker", "ConfigMap.v1: "+there+"/one=1")
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %s, labels: {colour: blue}}, data: {text: \"1\"}}",
		there))
	shows(e, "asker", "ConfigMap.v1: ")
}

// within is how many writes long a parent may lag behind a related object, beside what the test takes to look. It takes about four of them,
// and the requests between.
const within = 50

func TestRelatedObjectChanges(t *testing.T) {
	e := env.NewRunning(t)
	defineRelating(e, "v2")
	e.ApplyConfigMap("one", "", "1")
	asker(e, "asker", "v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "`+e.Namespace+`"}]`)
	key := "ConfigMap.v1: " + e.Namespace + "/one"
	shows(e, "asker", key+"=1")
	quickest, write := map[string]time.Duration{}, time.Hour
	step := func(what, want string, do func()) {
		t.Helper()
		start := time.Now()
		do()
		shows(e, "asker", want)
		took := time.Since(start)
		if before, known := quickest[what]; !known || took < before {
			quickest[what] = took
		}
	}
	// A busy machine may hold up any step. What is slow by itself is slow each time.
	for n := range 3 {
		start := time.Now()
		e.ApplyConfigMap("nobodys", "", fmt.Sprint(n))
		write = min(write, time.Since(start))
		step("a change", key+"=2", func() { e.ApplyConfigMap("one", "", "2") })
		step("a deletion", "ConfigMap.v1: ", func() { e.Delete(env.ConfigMaps, e.Namespace, "one") })
		step("a creation", key+"=3", func() { e.ApplyConfigMap("one", "", "3") })
	}
	most := max(time.Second, within*write)
	t.Logf("a write takes %s; shown after %v", write, quickest)
	for what, took := range quickest {
		if took > most {
			t.Errorf("%s shows after %s at the soonest, want %s at most: a write takes %s", what, took, most, write)
		}
	}
}

func TestCustomizeIsAskedOncePerContent(t *testing.T) {
	e := env.NewRunning(t)
	name := defineRelating(e, "v2")
	e.ApplyConfigMap("one", "", "0")
	rules := `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "` + e.Namespace + `"}]`
	asker(e, "asker", "v2", rules)
	key := "ConfigMap.v1: " + e.Namespace + "/one"
	shows(e, "asker", key+"=0")
	asked := func(want float64, after string) {
		t.Helper()
		e.Eventually(func() error { // WaitForQuiet does not wait for a reconcile without writes.
			if got := e.HookCalls(env.Composite, name, "customize"); got < want {
				return fmt.Errorf("customize was called %v times after %s, want %v", got, after, want)
			}
			return nil
		})
		e.WaitForQuiet()
		if got := e.HookCalls(env.Composite, name, "customize"); got != want {
			t.Errorf("customize was called %v times after %s, want %v", got, after, want)
		}
	}
	asked(1, "the parent came")
	for n := 1; n <= 3; n++ {
		e.ApplyConfigMap("one", "", fmt.Sprint(n))
		shows(e, "asker", fmt.Sprintf("%s=%d", key, n))
	}
	asked(1, "related objects and the parent's status changed")
	before := e.HookCalls(env.Composite, name, "sync")
	e.Patch(e.Things(), "asker", `{"status": {"said": "else"}}`, "status")
	shows(e, "asker", key+"=3")
	if after := e.HookCalls(env.Composite, name, "sync"); after <= before {
		t.Errorf("sync was called %v times before a foreign status and %v after", before, after)
	}
	asked(1, "somebody else wrote the status")
	reconciles := e.Reconciles(name, "success")
	e.Patch(e.Things(), "asker", `{"metadata": {"labels": {"more": "yes"}}}`)
	e.WaitForReconciles(name, reconciles, 1)
	asked(1, "a label changed that the hook does not read")
	e.Patch(e.Things(), "asker", `{"spec": {"more": true}}`)
	asked(2, "the spec changed")
}

// A script that is edited answers anew, though no parent has changed.
func TestEditedCustomizeScript(t *testing.T) {
	e := env.NewRunning(t)
	e.ApplyConfigMap("one", "", "1")
	e.ApplyConfigMap("two", "", "2")
	script := func(name string) {
		e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: hooks}, data: {related.js: %s}}", env.Quote(fmt.Sprintf(
			"export const customize = () => ({relatedResources: [{apiVersion: \"v1\", resource: \"configmaps\", names: [%q], namespace: %q}]});\n"+
				"export const sync = ({related}) => ({children: [], status: {said: Object.keys(related[\"ConfigMap.v1\"]).join()}});", name,
			e.Namespace))))
	}
	script("one")
	e.DefineReady(env.Composite, "", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}\ngenerateSelector: true", e.Group),
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: hooks}}]", e.Namespace),
		"hooks: {sync: {version: v2, script: {path: related.js}}, customize: {version: v2, script: {path: related.js}}}")
	e.ApplyThing("asker", "", "")
	shows(e, "asker", e.Namespace+"/one")
	script("two")
	shows(e, "asker", e.Namespace+"/two")
}
