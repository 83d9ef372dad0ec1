package kinds

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/test/cluster"
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
func (w *scene) relating(version string) string {
	w.T.Helper()
	script := fmt.Sprintf("{version: %s, script: {engine: JavaScript, inline: %s}}", version, env.Quote(relating))
	return w.define(composite, "-"+version,
		fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: %s}}}", w.Group, version),
		fmt.Sprintf("generateSelector: true\nhooks: {sync: %s, customize: %s}", script, script))
}

// asker applies a Thing that asks for related objects.
func (w *scene) asker(name, version, rules string) {
	w.T.Helper()
	w.object("Thing", name, "set: "+version, "rules: "+env.Quote(rules))
}

// label changes the labels of a namespace.
func (w *scene) label(namespace, labels string) {
	w.T.Helper()
	_, err := w.Cluster.Dynamic().Resource(namespaces).Patch(w.T.Context(), namespace, types.MergePatchType, []byte(`{"metadata": {"labels": `+labels+`}}`), metav1.PatchOptions{})
	if err != nil {
		w.T.Fatal(err)
	}
}

// shows checks what the hooks of a Thing were shown.
func (w *scene) shows(name, want string) {
	w.T.Helper()
	w.WaitFor(w.resource("Thing"), name, says(want))
}

// TestRelatedObjects has a second namespace, the same but for its own name, beside the test's.
func TestRelatedObjects(t *testing.T) {
	w := newScene(t)
	here, there := w.Namespace, w.Cluster.Namespace(t)
	both := fmt.Sprintf("%s/one=1 %s/one=1", min(here, there), max(here, there))
	for _, namespace := range []string{here, there} {
		w.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %s, labels: {colour: red}}, data: {text: \"1\"}}", namespace))
		w.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: two, namespace: %s, labels: {colour: blue}}, data: {text: \"2\"}}", namespace))
	}
	w.relating("v1")
	w.relating("v2")
	cases := map[string]struct{ version, rules, want string }{
		"v2-names":            {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one", "none"]}]`, "ConfigMap.v1: " + both},
		"v2-names-namespace":  {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "` + there + `"}]`, "ConfigMap.v1: " + there + "/one=1"},
		"v2-labels":           {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "red"}}}]`, "ConfigMap.v1: " + both},
		"v2-labels-namespace": {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "blue"}}, "namespace": "` + there + `"}]`, "ConfigMap.v1: " + there + "/two=2"},
		"v2-cluster":          {"v2", `[{"apiVersion": "v1", "resource": "namespaces", "names": ["` + here + `"]}]`, "Namespace.v1: " + here},
		"v2-union":            {"v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "` + here + `"}, {"apiVersion": "v1", "resource": "configmaps", "names": ["one", "two"], "namespace": "` + here + `"}, {"apiVersion": "v1", "resource": "secrets", "names": ["none"]}]`, "ConfigMap.v1: " + here + "/one=1 " + here + "/two=2; Secret.v1: "},
		"v2-none":             {"v2", `[]`, ""},
		"v1-names":            {"v1", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"]}]`, "ConfigMap.v1: one=1"},
		"v1-labels":           {"v1", `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "blue"}}}]`, "ConfigMap.v1: two=2"},
		"v1-own-namespace":    {"v1", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["two"], "namespace": "` + here + `"}]`, "ConfigMap.v1: two=2"},
		"v1-cluster":          {"v1", `[{"apiVersion": "v1", "resource": "namespaces", "names": ["` + here + `"]}]`, "Namespace.v1: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.with(t)
			w.asker(name, tc.version, tc.rules)
			w.shows(name, tc.want)
		})
	}
}

func TestWrongRelatedRules(t *testing.T) {
	w := newScene(t)
	w.relating("v1")
	w.relating("v2")
	w.configMap("one", "", "1")
	cases := map[string]struct{ version, rule, want string }{
		"v2-combined":        {"v2", `{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "labelSelector": {}}`, "names can't be combined with labelSelector"},
		"v2-both-namespaces": {"v2", `{"apiVersion": "v1", "resource": "configmaps", "namespace": "default", "namespaceSelector": {}}`, "namespace can't be combined with namespaceSelector"},
		"v2-cluster":         {"v2", `{"apiVersion": "v1", "resource": "nodes", "namespaceSelector": {}}`, "namespaceSelector: nodes are in no namespace"},
		"v2-unknown":         {"v2", `{"apiVersion": "v1", "resource": "configmap"}`, "configmap"},
		"v2-misspelt":        {"v2", `{"apiVersion": "v1", "resource": "configmaps", "label": {}}`, "label"},
		"v2-selector":        {"v2", `{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}}`, "labelSelector: "},
		"v1-elsewhere":       {"v1", `{"apiVersion": "v1", "resource": "configmaps", "namespace": "default"}`, "use version v2"},
		"v1-selected":        {"v1", `{"apiVersion": "v1", "resource": "configmaps", "namespaceSelector": {}}`, "use version v2"},
	}
	good := `{"apiVersion": "v1", "resource": "configmaps", "names": ["one"]}`
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.with(t)
			w.asker(name, tc.version, "["+good+", "+tc.rule+"]")
			w.WaitForEvent(name, "SyncError", "HookResponseInvalid: customize hook: relatedResources[1]: ", tc.want)
			w.asker(name, tc.version, "["+good+"]")
			w.WaitFor(w.resource("Thing"), name, func(o *unstructured.Unstructured) error {
				if said, _, _ := unstructured.NestedString(o.Object, "status", "said"); said == "" {
					return fmt.Errorf("%s still fails", name)
				}
				return nil
			})
		})
	}
}

func TestNamespacesThatComeAndGo(t *testing.T) {
	w := newScene(t)
	there := w.Cluster.Namespace(t)
	w.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %s, labels: {colour: red}}, data: {text: \"1\"}}", there))
	w.relating("v2")
	w.asker("asker", "v2", `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "red"}}, "namespaceSelector": {"matchLabels": {"tier": "`+there+`"}}}]`)
	w.shows("asker", "ConfigMap.v1: ")
	for range 3 {
		w.label(there, `{"tier": "`+there+`"}`)
		w.shows("asker", "ConfigMap.v1: "+there+"/one=1")
		w.label(there, `{"tier": "other"}`)
		w.shows("asker", "ConfigMap.v1: ")
	}
	w.label(there, `{"tier": "`+there+`"}`)
	w.shows("asker", "ConfigMap.v1: "+there+"/one=1")
	w.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %s, labels: {colour: blue}}, data: {text: \"1\"}}", there))
	w.shows("asker", "ConfigMap.v1: ")
}

// within is how long a parent may lag behind a related object.
const within = time.Second

func TestRelatedObjectChanges(t *testing.T) {
	w := newScene(t)
	w.relating("v2")
	w.configMap("one", "", "1")
	w.asker("asker", "v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "`+w.Namespace+`"}]`)
	key := "ConfigMap.v1: " + w.Namespace + "/one"
	w.shows("asker", key+"=1")
	quickest := map[string]time.Duration{}
	step := func(what, want string, do func()) {
		t.Helper()
		start := time.Now()
		do()
		w.shows("asker", want)
		took := time.Since(start)
		if before, known := quickest[what]; !known || took < before {
			quickest[what] = took
		}
	}
	// A busy machine may hold up any step. What is slow by itself is slow each time.
	for range 3 {
		step("a change", key+"=2", func() { w.configMap("one", "", "2") })
		step("a deletion", "ConfigMap.v1: ", func() { w.Delete(env.ConfigMaps, w.Namespace, "one") })
		step("a creation", key+"=3", func() { w.configMap("one", "", "3") })
	}
	for what, took := range quickest {
		if took > within {
			t.Errorf("%s shows after %s at the soonest, want %s at most", what, took, within)
		}
	}
}

func TestCustomizeIsAskedOncePerContent(t *testing.T) {
	w := newScene(t)
	name := w.relating("v2")
	w.configMap("one", "", "0")
	rules := `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "` + w.Namespace + `"}]`
	w.asker("asker", "v2", rules)
	key := "ConfigMap.v1: " + w.Namespace + "/one"
	w.shows("asker", key+"=0")
	asked := func(want float64, after string) {
		t.Helper()
		cluster.Eventually(t, env.Timeout, func() error { // A pass that writes nothing is none that Settled would wait for.
			if got := w.calls(composite, name, "customize"); got < want {
				return fmt.Errorf("customize was called %v times after %s, want %v", got, after, want)
			}
			return nil
		})
		w.WaitForQuiet()
		if got := w.calls(composite, name, "customize"); got != want {
			t.Errorf("customize was called %v times after %s, want %v", got, after, want)
		}
	}
	asked(1, "the parent came")
	for n := 1; n <= 3; n++ {
		w.configMap("one", "", fmt.Sprint(n))
		w.shows("asker", fmt.Sprintf("%s=%d", key, n))
	}
	asked(1, "related objects and the parent's status changed")
	before := w.calls(composite, name, "sync")
	w.Patch(w.resource("Thing"), "asker", `{"status": {"said": "else"}}`, "status")
	w.shows("asker", key+"=3")
	if after := w.calls(composite, name, "sync"); after <= before {
		t.Errorf("sync was called %v times before a foreign status and %v after", before, after)
	}
	asked(1, "somebody else wrote the status")
	w.Patch(w.resource("Thing"), "asker", `{"metadata": {"labels": {"more": "yes"}}}`)
	asked(2, "a label changed")
	w.Patch(w.resource("Thing"), "asker", `{"spec": {"more": true}}`)
	asked(3, "the spec changed")
}

// A script that is edited answers anew, though no parent has changed.
func TestEditedCustomizeScript(t *testing.T) {
	w := newScene(t)
	w.configMap("one", "", "1")
	w.configMap("two", "", "2")
	script := func(name string) {
		w.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: hooks}, data: {related.js: %s}}", env.Quote(fmt.Sprintf(
			"export const customize = () => ({relatedResources: [{apiVersion: \"v1\", resource: \"configmaps\", names: [%q], namespace: %q}]});\n"+
				"export const sync = ({related}) => ({children: [], status: {said: Object.keys(related[\"ConfigMap.v1\"]).join()}});", name, w.Namespace))))
	}
	script("one")
	w.define(composite, "", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}\ngenerateSelector: true", w.Group),
		fmt.Sprintf("scriptSources: [{configMap: {namespace: %s, name: hooks}}]", w.Namespace),
		"hooks: {sync: {version: v2, script: {path: related.js}}, customize: {version: v2, script: {path: related.js}}}")
	w.object("Thing", "asker", "", "")
	w.shows("asker", w.Namespace+"/one")
	script("two")
	w.shows("asker", w.Namespace+"/two")
}
