package hosting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// language is the hook of copies in another language, as the files of a ConfigMap.
type language struct {
	entry string
	files map[string]string
	// bad is an entry that does not load, and where it says so.
	bad, badAt string
	// failsAt is where the entry fails for a Thing without a text.
	failsAt string
}

var languages = map[string]language{
	"jsonnet": {
		entry: "sync.jsonnet",
		files: map[string]string{
			"sync.jsonnet": `
local configMap = import 'configmap.libsonnet';
function(request)
  local parent = request.parent, name = parent.metadata.name;
  {
    status: { count: std.length(request.children['ConfigMap.v1']) },
    children: [
      configMap('%s-%d' % [name, n]) { metadata+: { labels: { thing: name } }, data: { text: parent.spec.text } }
      for n in std.range(0, parent.spec.count - 1)
    ],
  }
`,
			"configmap.libsonnet": `function(name) { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name } }`,
		},
		bad: "function(request) {\n  children: ]\n}", badAt: "sync.jsonnet:2:13",
		failsAt: "sync.jsonnet:8:",
	},
	"cel": {
		entry: "sync.cel.yaml",
		files: map[string]string{"sync.cel.yaml": `
variables:
- {name: name, expression: parent.metadata.name}
response:
  status: {count: "${size(children['ConfigMap.v1'])}"}
  children: |
    ${lists.range(int(parent.spec.count)).map(n, {
      'apiVersion': 'v1',
      'kind': 'ConfigMap',
      'metadata': {'name': variables.name + '-' + string(n), 'labels': {'thing': variables.name}},
      'data': {'text': parent.spec.text},
    })}
`},
		bad: "response:\n  children: ${parents}", badAt: "sync.cel.yaml:2:15",
		failsAt: "sync.cel.yaml:11:",
	},
}

// TestLanguages has a controller in each of the other languages make children of Things of
// its own, at the same time.
func TestLanguages(t *testing.T) {
	e := newEnv(t)
	for name, language := range languages {
		e.Apply(language.configMap(name))
		e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s-%[2]s}
spec:
  parentResource: {apiVersion: %[3]s/v1, resource: things, labelSelector: {matchLabels: {language: %[2]s}}}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  scriptSources: [{configMap: {namespace: %[1]s, name: %[2]s}}]
  hooks: {sync: {version: v2, script: {path: %[4]s}}}
`, e.Namespace, name, e.Group, language.entry))
		e.Apply(fmt.Sprintf(`
apiVersion: %s/v1
kind: Thing
metadata: {name: %[2]s, labels: {language: %[2]s}}
spec: {selector: {matchLabels: {thing: %[2]s}}, count: 3, text: one}
`, e.Group, name))
	}
	for name, language := range languages {
		t.Run(name, func(t *testing.T) { language.check(e.WithT(t), name) })
	}
}

func (l language) configMap(name string) string {
	document := fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n", name)
	for path, text := range l.files {
		document += fmt.Sprintf("  %s: %s\n", path, env.Quote(text))
	}
	return document
}

func (l language) check(e *env.Env, name string) {
	definition := e.Namespace + "-" + name
	e.WaitForCondition(definition, "ScriptsReady", "True")
	e.WaitFor(env.ConfigMaps, name+"-2", env.HasText("one"))
	e.WaitFor(e.Things(), name, hasCount(3))
	e.Patch(e.Things(), name, `{"spec": {"count": 1, "text": "two"}}`)
	e.WaitFor(env.ConfigMaps, name+"-0", env.HasText("two"))
	e.WaitForDeletion(env.ConfigMaps, name+"-1", "")
	e.WaitFor(e.Things(), name, hasCount(1))

	// A hook that fails says where, and leaves what is there alone.
	e.Patch(e.Things(), name, `{"spec": {"text": null}}`)
	e.WaitForEvent(name, "SyncError", "HookFailed: sync hook: ", l.failsAt)
	if err := env.HasText("two")(e.Get(env.ConfigMaps, name+"-0")); err != nil {
		e.T.Error(err)
	}

	// So does a script that does not load, and the one before it goes on.
	edit(e, name, l.entry, l.bad)
	e.WaitForCondition(definition, "ScriptsReady", "False", l.badAt)
	e.Patch(e.Things(), name, `{"spec": {"text": "three"}}`)
	e.WaitFor(env.ConfigMaps, name+"-0", env.HasText("three"))
	edit(e, name, l.entry, strings.ReplaceAll(l.files[l.entry], "parent.spec.text", "'four'"))
	e.WaitFor(env.ConfigMaps, name+"-0", env.HasText("four"))
	e.WaitForCondition(definition, "ScriptsReady", "True")
}

func edit(e *env.Env, configMap, path, text string) {
	e.T.Helper()
	e.Patch(env.ConfigMaps, configMap, fmt.Sprintf(`{"data": {%s: %s}}`, env.Quote(path), env.Quote(text)))
	e.WaitFor(env.ConfigMaps, configMap, env.HasField(text, "data", path))
}
