package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// TestMessages has the messages in docs/design/messages.md that are about files and flags.
func TestMessages(t *testing.T) {
	const definition = "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: CompositeController\nmetadata: {name: a}\n"
	const composite = definition + "spec:\n  generateSelector: true\n  parentResource: {apiVersion: example.com/v1, resource: things}\n"
	const thingCRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: things.example.com}\n" +
		"spec:\n  group: example.com\n  scope: Namespaced\n  names: {kind: Thing, plural: things, singular: thing}\n" +
		"  versions: [{name: v1, served: false, storage: true, schema: {openAPIV3Schema: {type: object}}}]\n"
	kustomization := "resources: [definition.yaml]\n"
	cases := map[string]struct {
		reason string
		files  map[string]string
		args   []string
		want   string
	}{
		"tab": {"kustomize gives a line without a file", map[string]string{"kustomization.yaml": kustomization, "definition.yaml": definition + "spec:\n\thooks: {}\n"},
			[]string{"check"}, "definition.yaml:5: error: found character that cannot start any token: YAML is indented by spaces and never by tabs"},
		"given twice": {"kustomize gives a line without a file", map[string]string{"kustomization.yaml": kustomization, "definition.yaml": definition + "spec: {}\nspec: {}\n"},
			[]string{"check"}, "definition.yaml:5:1: error: spec is given twice: it is on line 4 too"},
		"template of Helm": {"the parser names a type of Go", map[string]string{"definition.yaml": strings.Replace(definition, "{name: a}", "\n  name: {{ .Release.Name }}", 1)},
			[]string{"check"}, "invalid map key: a text that begins with { is put in quotes, and a template of Helm is filled in first"},
		"no quotes": {"the parser says: mapping values are not allowed in this context", map[string]string{"a.yaml": "a: b: c\n"},
			[]string{"check"}, `a.yaml:1: error: mapping values are not allowed in this context: a text with ": " in it is put in quotes`},
		"not closed": {"the parser says: did not find expected ',' or '}'", map[string]string{"a.yaml": "a: {b: c\nd: e\n"},
			[]string{"check"}, "a { or [ is not closed"},
		"missing file": {"kustomize says: evalsymlink failure", map[string]string{"kustomization.yaml": "configMapGenerator:\n- {name: a, files: [sync.js]}\n"},
			[]string{"check"}, "kustomize can't build it: there is no file sync.js: create it, or correct its name"},
		"misspelt kind": {"the object that was meant", map[string]string{"definition.yaml": strings.Replace(definition, "CompositeC", "CompositC", 1)},
			[]string{"check"}, "definition.yaml:1:1: CompositController a: did you mean CompositeController?"},
		"misspelt flag":    {"the flag that is like it", nil, []string{"check", "--strick"}, "unknown flag: --strick: did you mean --strict?"},
		"misspelt command": {"cobra says it on three more lines", nil, []string{"chekc"}, `unknown command "chekc" for "libretto": did you mean check?`},
		"unknown command":  {"cobra says no more", nil, []string{"lint"}, `unknown command "lint" for "libretto": there are bundle, capture, check, `},
		"argument":         {"cobra says: unknown command", nil, []string{"version", "lint"}, `libretto version takes no arguments, and is given "lint"`},
		"UTF-16":           {"the parser names no way out", map[string]string{"definition.yaml": "\xff\xfek\x00"}, []string{"check"}, "definition.yaml:1: error: is not UTF-8 text: save it as UTF-8"},
		"UTF-16 in a script": {"the place is that of the generator", map[string]string{
			"kustomization.yaml": kustomization + "configMapGenerator:\n- {name: a, namespace: default, files: [sync.js], options: {disableNameSuffixHash: true}}\n",
			"sync.js":            "\xff\xfea\x00", "definition.yaml": composite + "  scriptSources: [{configMap: {namespace: default, name: a}}]\n  hooks: {sync: {script: {path: sync.js}}}\n"},
			[]string{"check"}, "sync.js:1:1: error: CompositeController a: not UTF-8 text: save it as UTF-8"},
		"not served": {"as if there were no CustomResourceDefinition", map[string]string{
			"crd.yaml": thingCRD, "definition.yaml": composite + "  hooks: {sync: {script: {engine: JavaScript, inline: 'export const sync = () => ({children: []})'}}}\n"},
			[]string{"check"}, `there is no resource "things" in "example.com/v1": the version is not served: set served: true in its CustomResourceDefinition`},
		"unknown letter": {"where the flags are", nil, []string{"test", "-f", "."}, "unknown shorthand flag: 'f' in -f: libretto test --help lists the flags"},
		"other group": {"the kind is right", map[string]string{"definition.yaml": strings.Replace(definition, "metacontroller.k8s.io", "metacontroller.io", 1)},
			[]string{"check"}, "definition.yaml:1:1: CompositeController a: apiVersion is metacontroller.io/v1alpha1, and must be metacontroller.k8s.io/v1alpha1"},
		"chart of Helm": {"kustomize says: must specify --enable-helm, a flag that there is not", map[string]string{
			"kustomization.yaml": kustomization + "helmCharts: [{name: x, repo: \"https://example.com\"}]\n", "definition.yaml": definition},
			[]string{"check"}, "kustomize can't build it: must specify --enable-helm: this command runs no Helm: pipe kustomize build --enable-helm into -f -"},
		"patch": {"kustomize prints its configuration, and not what a patch is", map[string]string{
			"kustomization.yaml": kustomization + "patches: [{target: {kind: CompositeController}, patch: \"[{op: add, path: /x, value: 1}]\"}]\n", "definition.yaml": definition},
			[]string{"check"}, "a patch is a part of the object, or a list of {op, path, value}: in one that begins with [ the names are in quotes"},
		"the same object twice": {"kustomize says that it must build at a directory", map[string]string{
			"kustomization.yaml": kustomization, "definition.yaml": definition + "---\n" + definition},
			[]string{"check"}, "may not add resource with an already registered id: CompositeController.v1alpha1.metacontroller.k8s.io/a.[noNs]: it is there twice: leave one out"},
		"no name": {"kustomize prints a struct of Go", map[string]string{"kustomization.yaml": kustomization, "definition.yaml": "apiVersion: v1\nkind: ConfigMap\n"},
			[]string{"check"}, "kustomize can't build it: definition.yaml: missing metadata.name in an object: give each object a name"},
		"number in a ConfigMap": {"the API server names a field of Go", map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 5}\n"},
			[]string{"check"}, "a.yaml:4:7: error: ConfigMap a: data: a value can't be of type number"},
		"wrong type": {"the API server names the field twice, and the type for the value", map[string]string{"definition.yaml": definition + "spec: {generateSelector: \"true\"}\n"},
			[]string{"check"}, "spec.generateSelector: must be of type boolean, and is of type string"},
		"misspelt field": {"the field that is like it", map[string]string{"definition.yaml": composite + "  childResource: []\n"},
			[]string{"check"}, "unknown field spec.childResource: did you mean childResources?"},
		"misspelt field in a list": {"the field that is like it", map[string]string{"definition.yaml": composite + "  childResources: [{apiVersion: v1, resource: pods, updateStrategy: {metod: InPlace}}]\n"},
			[]string{"check"}, "unknown field spec.childResources[0].updateStrategy.metod: did you mean method?"},
		"empty file": {"as if no file was given", map[string]string{"definition.yaml": ""},
			[]string{"check"}, "definition.yaml is empty: give one with -f"},
		"short schema": {"it is no manifest, and lies beside them", map[string]string{"schema.yaml": "group: example.com\nkind: A\nspec: {}\n", "definition.yaml": definition},
			[]string{"check"}, "schema.yaml:1:1: error: is no object, but what libretto crd makes a CustomResourceDefinition of: name the other files"},
		"removed API": {"there are types for it", map[string]string{"definition.yaml": composite +
			"  childResources: [{apiVersion: extensions/v1beta1, resource: ingresses}]\n  hooks: {sync: {script: {engine: CEL, inline: \"{'children': []}\"}}}\n"},
			[]string{"check"}, "ingresses in networking.k8s.io/v1"},
		"kind of another folder": {"the group is known by another kind alone", map[string]string{
			"crd.yaml": strings.Replace(thingCRD, "served: false", "served: true", 1), "definition.yaml": composite +
				"  childResources: [{apiVersion: example.com/v1, resource: others}]\n  hooks: {sync: {script: {engine: CEL, inline: \"{'children': []}\"}}}\n"},
			[]string{"check"}, `there is no resource "others" in "example.com/v1": there are things: give its CustomResourceDefinition with -f`},
		"help of a misspelt command": {"cobra prints the usage, and succeeds", nil, []string{"help", "chekc"}, `unknown command "chekc" for "libretto": did you mean check?`},
		"no duration":                {"Go says: time: missing unit", nil, []string{"render", "--timeout", "5"}, `invalid argument "5" for "--timeout" flag: must be a duration, such as 30s or 5m`},
		"no number":                  {"Go says: strconv.ParseInt", nil, []string{"serve", "-v=x"}, `invalid argument "x" for "-v, --v" flag: must be a number`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			folder := t.TempDir()
			for file, text := range c.files {
				if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := c.args
			if c.files != nil {
				args = append(args, folder)
			}
			var out bytes.Buffer
			w := cli.Process{Args: args, Getenv: func(string) string { return "" }, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out}
			program.Execute(t.Context(), w)
			if got := strings.ReplaceAll(out.String(), folder+string(filepath.Separator), ""); !strings.Contains(got, c.want) {
				t.Errorf("output\n%s, want one with\n%s", got, c.want)
			}
		})
	}
}
