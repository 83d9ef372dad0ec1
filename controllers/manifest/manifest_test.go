package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/scripts"
)

// unpack writes the files of a txtar text into a directory.
func unpack(t *testing.T, text string) string {
	t.Helper()
	directory := t.TempDir()
	for _, f := range txtar.Parse([]byte(text)).Files {
		path := filepath.Join(directory, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

func describe(objects []*document.Object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, fmt.Sprintf("%s %s at %s", o.GetKind(), o.GetName(), o.Location))
	}
	return all
}

const folder = `
-- one.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: one}
data: {a: x}
-- two.json --
{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "two"}}
-- three.yml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: three}
spec:
  parentResource: {apiVersion: example.com/v1, resource: fours}
  inputResources: [{apiVersion: v1, resource: pods}]
  hooks: {map: {script: {inline: "a", engine: CEL}}}
---
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
-- sync.cel.yaml --
response: {}
-- tsconfig.json --
{ /* not JSON */ }
-- three.schema.json --
{}
-- README.md --
nothing
-- .git/a.yaml --
a
-- node_modules/a/package.yaml --
a
-- vendor/a/package.yaml --
a
-- jsonnetfile.json --
{"version": 1}
-- jsonnetfile.lock.json --
{"version": 1}
-- below/four.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fours.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Four, plural: fours}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: integer, minimum: 3}}}}}}}]
-- built/kustomization.yaml --
namePrefix: pre-
resources: [five.yaml]
configMapGenerator:
- name: hooks
  files: [sync.js, lib.js=lib/a.js]
- name: other
  literals: [a=b]
-- built/five.yaml --
apiVersion: v1
kind: Service
metadata:
  name: five
spec: {ports: [{port: 80}]}
-- built/sync.js --
export {}
-- built/lib/a.js --
let x
`

// TestLoad checks which objects a folder has.
func TestLoad(t *testing.T) {
	t.Chdir(unpack(t, folder))
	for name, c := range map[string]struct {
		options Options
		want    []string
	}{
		"a directory": {Options{Filenames: []string{"."}}, []string{
			"definition MapController three at three.yml:1:1", "file ControllerTest  at three.yml:9:1",
			"object ConfigMap one at one.yaml:1:1", "object Secret two at two.json:1:1",
			"skipped jsonnetfile.json", "skipped jsonnetfile.lock.json", "skipped sync.cel.yaml", "skipped three.schema.json", "skipped tsconfig.json",
		}},
		"recursively": {Options{Filenames: []string{"."}, Recursive: true}, []string{
			"definition MapController three at three.yml:1:1", "crd fours.example.com", "file ControllerTest  at three.yml:9:1",
			"object Service pre-five at built/five.yaml:1:1", "object ConfigMap pre-hooks-4bddht9t7b at built/kustomization.yaml:4:3",
			"object ConfigMap pre-other-4h2mbtbbt6 at built/kustomization.yaml:6:3",
			"object ConfigMap one at one.yaml:1:1", "object Secret two at two.json:1:1",
			"skipped .git", "skipped jsonnetfile.json", "skipped jsonnetfile.lock.json", "skipped node_modules", "skipped sync.cel.yaml",
			"skipped three.schema.json", "skipped tsconfig.json", "skipped vendor",
		}},
		"files, each once": {Options{Filenames: []string{"one.yaml", "./one.yaml", "below/four.yaml"}}, []string{
			"crd fours.example.com", "object ConfigMap one at one.yaml:1:1",
		}},
		"standard input": {
			Options{Filenames: []string{"-"}, Stdin: strings.NewReader("\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n")},
			[]string{"object Secret a at stdin:2:1"},
		},
		"the same twice": {
			Options{Filenames: []string{"-"}, Stdin: strings.NewReader(strings.Repeat("---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", 2))},
			[]string{"object Secret a at stdin:2:1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.IsScript = standard.IsScript
			set, err := Load(t.Context(), c.options)
			if err != nil {
				t.Fatal(err)
			}
			if err := set.Err(); err != nil {
				t.Error(err)
			}
			if diff := cmp.Diff(c.want, contentsOf(set)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func contentsOf(set *Set) []string {
	var got []string
	for _, d := range describe(set.Definitions) {
		got = append(got, "definition "+d)
	}
	for _, crd := range set.CRDs {
		got = append(got, "crd "+crd.GetName())
	}
	for _, f := range describe(set.Files) {
		got = append(got, "file "+f)
	}
	for _, o := range describe(set.Objects) {
		got = append(got, "object "+o)
	}
	for _, s := range set.Skipped {
		got = append(got, "skipped "+s)
	}
	return got
}

// TestKustomizedPlaces checks that places in what kustomize has built are those of the files it was built from.
func TestKustomizedPlaces(t *testing.T) {
	t.Chdir(unpack(t, folder))
	set, err := Load(t.Context(), Options{Filenames: []string{"built"}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := set.Objects[0].Place("metadata.name").String(), "built/five.yaml:4:9"; got != want {
		t.Errorf("the name is at %s, want %s", got, want)
	}
	if set.Objects[0].GetAnnotations() != nil {
		t.Errorf("kustomize's annotations are left: %v", set.Objects[0].GetAnnotations())
	}
	source := scripts.ConfigMap{Namespace: "default", Name: set.Objects[1].GetName()}
	spec := scripts.Spec{Sources: []scripts.Source{{ConfigMap: &source}}}
	origin := spec.Sources[0].Origin()
	if diff := cmp.Diff(map[string]string{"sync.js": "export {}\n", "lib.js": "let x\n"}, set.Contents(origin).Files); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	got := set.Locate(set.Objects[0], spec, origin, engines.Location{File: "lib.js", Line: 1, Column: 5}).String()
	if want := "built/lib/a.js:1:5"; got != want {
		t.Errorf("a place in a generated key is at %s, want %s", got, want)
	}
}

// TestScriptsDirectory checks that a directory takes the place of a ConfigMap.
func TestScriptsDirectory(t *testing.T) {
	t.Chdir(unpack(t, folder))
	name := types.NamespacedName{Namespace: "default", Name: "one"}
	set, err := Load(t.Context(), Options{Filenames: []string{"one.yaml"}, Scripts: map[scripts.ObjectName]string{scripts.ConfigMapName("default", "one"): "built"}, ScriptsDir: "."})
	if err != nil {
		t.Fatal(err)
	}
	if got := set.Contents(scripts.Origin{ConfigMap: name}).Files; got["sync.js"] != "export {}\n" || got["a"] != "" || got["lib/a.js"] != "" {
		t.Errorf("the ConfigMap has %v", got)
	}
	if got := set.Contents(scripts.Origin{Directory: "built/lib"}).Files; got["a.js"] != "let x\n" {
		t.Errorf("the directory has %v", got)
	}
}

// TestOverlay checks that texts take the place of those of files: of manifests, of what a kustomization is made of, and of directories.
func TestOverlay(t *testing.T) {
	root := unpack(t, folder)
	t.Chdir(root)
	at := func(name string) string { return filepath.Join(root, filepath.FromSlash(name)) }
	set, err := Load(t.Context(), Options{
		Filenames: []string{"one.yaml", "built"}, ScriptsDir: ".", Scripts: map[scripts.ObjectName]string{scripts.ConfigMapName("default", "two"): "built/lib"},
		Overlay: map[string]string{
			at("one.yaml"): "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\ndata: {a: x}", at("built/lib/a.js"): "let y\n", at("none.yaml"): "a: b",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(set.Objects)[0]; got != "ConfigMap other at one.yaml:1:1" {
		t.Errorf("the first object is %s", got)
	}
	for name, origin := range map[string]scripts.Origin{
		"a generated ConfigMap": {ConfigMap: types.NamespacedName{Namespace: "default", Name: set.Objects[2].GetName()}}, "a directory": {Directory: "built/lib"},
		"a directory for a ConfigMap": {ConfigMap: types.NamespacedName{Namespace: "default", Name: "two"}},
	} {
		files := set.Contents(origin).Files
		if files["lib.js"] != "let y\n" && files["a.js"] != "let y\n" {
			t.Errorf("%s has %v", name, files)
		}
	}
}

// TestArtifacts checks that a directory holds what the artifact of an object of Flux does.
func TestArtifacts(t *testing.T) {
	t.Chdir(unpack(t, folder))
	options := Options{Filenames: []string{"one.yaml"}}
	for name, want := range map[string]bool{
		"GitRepository/a/hooks": true, "a/hooks": true, "HelmChart/a/hooks": false, "GitRepository/a/b/hooks": false, "GitRepository//hooks": false, "hooks": false,
	} {
		if got := options.AddScripts(name, "built"); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	set, err := Load(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	object := scripts.ObjectName{Kind: "GitRepository", NamespacedName: types.NamespacedName{Namespace: "a", Name: "hooks"}}
	source := &scripts.Flux{FluxOrigin: scripts.FluxOrigin{ObjectName: object, Path: "lib"}, Prefix: "vendor"}
	spec := scripts.Spec{Sources: []scripts.Source{{Flux: source}}}
	origin := spec.Sources[0].Origin()
	if diff := cmp.Diff(map[string]string{"a.js": "let x\n"}, set.Contents(origin).Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	got := set.Locate(set.Objects[0], spec, origin, engines.Location{File: "vendor/a.js", Line: 1, Column: 5}).String()
	if want := "built/lib/a.js:1:5"; got != want {
		t.Errorf("a place in a file is at %s, want %s", got, want)
	}
	origin.Flux.Path = "none"
	if err := set.Contents(origin).Err; err == nil || err.Error() != "there is no folder none in built" {
		t.Errorf("a folder that is not there: %v", err)
	}
	if !slices.Contains(set.Inputs, "built/lib") {
		t.Errorf("the inputs are %v", set.Inputs)
	}
}

// TestCRDs checks that nothing but CustomResourceDefinitions is taken from files that are given for them.
func TestCRDs(t *testing.T) {
	t.Chdir(unpack(t, crd+"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: here}\n-- b.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: here}\ndata: {a: b}\n"))
	set, err := Load(t.Context(), Options{Filenames: []string{"b.yaml"}, CRDs: []string{"a.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	if len(set.CRDs) != 1 || len(set.Objects) != 1 || set.Err() != nil || len(set.Inputs) != 2 {
		t.Errorf("%d CustomResourceDefinitions, %d objects, inputs %v, problems %v; want one, one, two and none", len(set.CRDs), len(set.Objects), set.Inputs, set.Err())
	}
}

const crd = `
-- a.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fours.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Four, plural: fours}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {a: {type: integer, minimum: 3}}}}}}}]
`

// TestBefore checks that a CustomResourceDefinition is read again only if it is another.
func TestBefore(t *testing.T) {
	text := `-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: fours.example.com}
spec:
  group: example.com
  names: {kind: Four, plural: fours, singular: four, listKind: FourList}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
`
	root := unpack(t, text)
	load := func(before []*CRD, overlay map[string]string) []*CRD {
		set, err := Load(t.Context(), Options{Filenames: []string{root}, Before: before, Overlay: overlay})
		if err != nil || len(set.CRDs) != 1 {
			t.Fatal(set, err)
		}
		return set.CRDs
	}
	first := load(nil, nil)
	file := filepath.Join(root, "crd.yaml")
	moved := load(first, map[string]string{file: "# a line\n" + text[strings.Index(text, "\n")+1:]})
	if moved[0].Resources[0].Schema != first[0].Resources[0].Schema || moved[0].Location.Line != 2 {
		t.Errorf("it is read again, or is at %s", moved[0].Location)
	}
	if other := load(first, map[string]string{file: strings.Replace(text[strings.Index(text, "\n")+1:], "Namespaced", "Cluster", 1)}); other[0].Resources[0].Namespaced {
		t.Error("what has changed is not read")
	}
}

// TestProblems checks the messages about files that are not as they should be.
func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		files, want string
	}{
		"bad YAML":           {"-- a.yaml --\na: [\n", "a.yaml:1: did not find expected node content"},
		"no name":            {"-- a.yaml --\napiVersion: v1\nkind: Pod\n", "a.yaml:1:1: Pod: metadata.name is missing"},
		"twice, and differs": {"-- a.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a}\n-- b.yaml --\napiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: {a: b}}\n", "b.yaml:3:18: Pod a is given twice: it is at a.yaml:1:1 too, and differs: leave one of them out"},
		"twice, once with its namespace": {
			"-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: default}\n",
			"a.yaml:7:18: ConfigMap default/a is given twice: it is at a.yaml:1:1 too, and differs: leave one of them out",
		},
		"tests, which have no names": {
			"-- a.yaml --\napiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\n---\napiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\ncases: []\n" +
				"---\napiVersion: v1\nkind: Secret\nmetadata: {generateName: a-}\n---\napiVersion: v1\nkind: Secret\nmetadata: {generateName: a-}\ndata: {}\n", "",
		},
		"a number in a ConfigMap": {
			"-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: 1}\n",
			"a.yaml:4:11: ConfigMap default/a: data.a must be a string: put it into quotes",
		},
		"a bad key in a ConfigMap": {
			"-- a.yaml --\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a/b: \"1\"}\n",
			`a.yaml:4:13: ConfigMap default/a: data: "a/b" is no key: a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
		},
		"a bad CRD": {
			"-- a.yaml --\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {group: 1}\n",
			"a.yaml:4:7: CustomResourceDefinition a: cannot convert int64 to string",
		},
		"an invalid object": {
			"-- a.yaml --\napiVersion: v1\nkind: Service\nmetadata: {name: A}\nspec:\n  prots: []\n",
			"a.yaml:5:10: Service A: unknown field spec.prots\na.yaml:3:18: Service A: metadata.name: Invalid value: \"A\"",
		},
		"an invalid custom resource": {
			crd + "-- b.yaml --\napiVersion: example.com/v1\nkind: Four\nmetadata: {name: a}\nspec:\n  a: 1\n  b: 1\n",
			"b.yaml:6:6: Four a: unknown field spec.b\nb.yaml:5:6: Four a: spec.a: Invalid value: 1: spec.a in body should be greater than or equal to 3",
		},
		"an invalid definition": {
			"-- a.yaml --\napiVersion: metacontroller.k8s.io/v1alpha1\nkind: MapController\nmetadata: {name: a}\nspec:\n  parentResource: {apiVersion: v1, resource: pods}\n" +
				"  hooks:\n    map:\n      script: {path: ../map, engine: CEL}\n  outputResources:\n  - {apiVersion: v1, resource: pods, updateStrategy: {method: Recreate, when: now}}\n",
			"a.yaml:10:79: MapController a: unknown field spec.outputResources[0].updateStrategy.when\n" +
				"a.yaml:4:1: MapController a: spec.inputResources: Required value",
		},
		"a missing resource": {
			"-- kustomization.yaml --\nnamespace: a\nresources:\n- b.yaml\n",
			"kustomization.yaml:3:3: kustomize can't build it: there is no file b.yaml: create it, or correct its name",
		},
		"a remote resource": {
			"-- kustomization.yaml --\nresources:\n- https://example.com/a.yaml\n",
			"kustomization.yaml:2:3: https://example.com/a.yaml is not fetched: this command needs no network: run kustomize localize, or pipe kustomize build into -f -",
		},
		"a repository": {
			"-- kustomization.yaml --\nresources: [a]\n-- a/kustomization.yaml --\ncomponents:\n- git@example.com:a/b.git\n",
			"a/kustomization.yaml:2:3: git@example.com:a/b.git is not fetched: this command needs no network: run kustomize localize, or pipe kustomize build into -f -",
		},
		"a remote file of a generator": {
			"-- kustomization.yaml --\nconfigMapGenerator:\n- name: a\n  files: [a=http://example.com/a]\n",
			"kustomization.yaml:3:13: http://example.com/a is not fetched: this command needs no network: run kustomize localize, or pipe kustomize build into -f -",
		},
		"a remote file of an inline transformer": {
			"-- kustomization.yaml --\ntransformers:\n- |\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: a}\n  path: https://example.com/b\n",
			"kustomization.yaml:6:9: https://example.com/b is not fetched",
		},
		"a remote file of the second transformer of a file": {
			"-- kustomization.yaml --\ntransformers: [a.yaml]\n-- a.yaml --\napiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: a}\nlabels: {a: b}\n---\n" +
				"apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: a}\npath: https://example.com/b\n",
			"a.yaml:9:7: https://example.com/b is not fetched",
		},
		"a URL that is no file": {
			"-- kustomization.yaml --\ncommonAnnotations: {a: \"https://example.com\"}\nconfigMapGenerator:\n- {name: a, literals: [\"a=https://example.com\"]}\n", "",
		},
		"a bomb in a resource": {
			"-- kustomization.yaml --\nresources: [a.yaml]\n-- a.yaml --\na: " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n",
			"a.yaml:1:302: is nested deeper than 200",
		},
		"a cycle": {
			"-- kustomization.yaml --\nresources: [a]\n-- a/kustomization.yaml --\nresources: [..]\n",
			"a/kustomization.yaml:1:13: kustomize can't build it: accumulating resources: accumulation err='accumulating resources from 'a'",
		},
		"an unknown field": {
			"-- kustomization.yaml --\nresource: [a]\n",
			`kustomization.yaml: kustomize can't build it: invalid Kustomization: json: unknown field "resource"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(unpack(t, c.files))
			set, err := Load(t.Context(), Options{Filenames: []string{"."}})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if err := set.Err(); err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("problem %q, want %q", got, c.want)
			}
		})
	}
}

// TestUnreadable checks the errors for what can't be read at all.
func TestUnreadable(t *testing.T) {
	t.Chdir(unpack(t, folder))
	for name, c := range map[string]struct {
		options Options
		want    string
	}{
		"no such file":    {Options{Filenames: []string{"nope"}}, "stat nope: no such file or directory"},
		"a URL":           {Options{Filenames: []string{"https://example.com"}}, "https://example.com: nothing is fetched: download it, or pipe it into -f -"},
		"an empty name":   {Options{Filenames: []string{""}}, "-f: the name of a file is empty"},
		"no input":        {Options{Filenames: []string{"-"}}, "-f -: there is no standard input"},
		"input twice":     {Options{Filenames: []string{"-", "-"}, Stdin: strings.NewReader("")}, "-f -: standard input is given twice"},
		"no such scripts": {Options{Scripts: map[scripts.ObjectName]string{scripts.ConfigMapName("a", "b"): "nope"}}, "--scripts a/b=nope: open nope: no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(t.Context(), c.options)
			if err == nil || err.Error() != c.want {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// TestTestsWithDefinitions loads a test that has a definition of its own: in a directory that is the test's alone.
func TestTestsWithDefinitions(t *testing.T) {
	directory := unpack(t, `
-- a.yaml --
apiVersion: v1
kind: ConfigMap
metadata: {name: hooks}
data: {sync.js: new}
-- a_test.yaml --
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
cases: [{name: a}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: hooks}
data: {sync.js: old}
`)
	for name, want := range map[string]string{directory: "new", filepath.Join(directory, "a_test.yaml"): "old"} {
		set, err := Load(t.Context(), Options{Filenames: []string{name}})
		if err != nil || set.Err() != nil || len(set.Objects) != 1 || len(set.Files) != 1 {
			t.Fatal(err, set)
		}
		data, _ := set.Objects[0].Object["data"].(map[string]any)
		if data["sync.js"] != want {
			t.Errorf("%s: %v, want %s", name, data, want)
		}
	}
}
