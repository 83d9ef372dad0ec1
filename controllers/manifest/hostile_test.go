package manifest

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
)

// TestMain builds kustomizations: Load starts this binary for each.
func TestMain(m *testing.M) {
	kustomize.Main()
	os.Exit(m.Run())
}

// builtin begins the configuration of a built-in plugin of kustomize.
const builtin = "apiVersion: builtin\nmetadata: {name: p}\n"

// function is an object that asks for a function of kustomize to be run, in one way of several.
func function(annotations string) string {
	return "-- kustomization.yaml --\ntransformers: [f.yaml]\n-- f.yaml --\napiVersion: example.com/v1\nkind: F\n" +
		"metadata:\n  name: f\n  annotations:\n    config.kubernetes.io/function: |\n" + annotations + "-- run --\n#!/bin/sh\ntouch \"$MARKER\"\n"
}

// hostile are kustomizations that have kustomize fetch or run something. URL stands for a server, and HOST for its address. The message of
// a problem contains want, or "is not fetched" if it is empty.
var hostile = map[string]struct{ files, want string }{
	"a resource over HTTP":   {files: "-- kustomization.yaml --\nresources: [URL/a.yaml]\n"},
	"a scheme in capitals":   {files: "-- kustomization.yaml --\nresources: [HTTP://HOST/a.yaml]\n"},
	"a base over HTTP":       {files: "-- kustomization.yaml --\nresources: [\"URL/a/b.git//c?ref=main\"]\n"},
	"an old base":            {files: "-- kustomization.yaml --\nbases: [\"URL/a/b\"]\n"},
	"a component":            {files: "-- kustomization.yaml --\ncomponents: [\"URL/a/b\"]\n"},
	"a base over ssh":        {files: "-- kustomization.yaml --\nresources: [ssh://git@HOST/a/b]\n"},
	"a component over ssh":   {files: "-- kustomization.yaml --\ncomponents: [ssh://git@HOST/a/b]\n"},
	"a base by scp":          {files: "-- kustomization.yaml --\nresources: [\"git@127.0.0.1:a/b.git\"]\n"},
	"a forced protocol":      {files: "-- kustomization.yaml --\nresources: [\"git::URL/a/b.git\"]\n"},
	"a repository by file":   {files: "-- kustomization.yaml --\nresources: [\"file:///etc//a\"]\n"},
	"a repository of GitHub": {files: "-- kustomization.yaml --\nresources: [\"github.com/kubernetes-sigs/kustomize//examples?ref=v1\"]\n"},
	"a base of a base": {
		files: "-- kustomization.yaml --\nresources: [a]\n-- a/kustomization.yaml --\nresources: [b]\n-- a/b/Kustomization --\nresources: [ssh://git@HOST/a/b]\n",
	},
	"an alias out of a plain field": {files: "-- kustomization.yaml --\nnamePrefix: &u URL/a.yaml\nresources: [*u]\n"},
	"an anchor in the metadata":     {files: "-- kustomization.yaml --\nmetadata: {name: k, annotations: {a: &u URL/a.yaml}}\nresources: [*u]\n"},
	"an anchor in a literal": {
		files: "-- kustomization.yaml --\nconfigMapGenerator:\n- name: a\n  literals: [&u \"a=URL/a\"]\n- name: b\n  files: [*u]\n",
	},
	"an alias of a list":         {files: "-- kustomization.yaml --\nlabels: [{pairs: {a: b}, fields: []}]\nvars: &u [URL/a.yaml]\nresources: *u\n", want: "can't build it"},
	"a merge key":                {files: "-- kustomization.yaml --\nmetadata: {name: k, labels: &u {resources: [URL/a.yaml]}}\n<<: *u\n", want: "t build it"},
	"an escaped text":            {files: "-- kustomization.yaml --\nresources: [\"\\x68ttp://HOST/a.yaml\"]\n"},
	"a folded text":              {files: "-- kustomization.yaml --\nresources:\n- >-\n  URL/a.yaml\n"},
	"JSON in YAML":               {files: "-- kustomization.yaml --\n{\"resources\": [\"URL/a.yaml\"]}\n"},
	"a file of a generator":      {files: "-- kustomization.yaml --\nconfigMapGenerator:\n- {name: a, files: [\"a=URL/a\"]}\n"},
	"an environment file":        {files: "-- kustomization.yaml --\nconfigMapGenerator:\n- {name: a, envs: [\"URL/a\"]}\n"},
	"a file of a Secret":         {files: "-- kustomization.yaml --\nsecretGenerator:\n- {name: a, files: [\"URL/a\"]}\n"},
	"a patch":                    {files: "-- kustomization.yaml --\npatches: [{path: URL/a}]\nconfigMapGenerator: [{name: a}]\n"},
	"a strategic patch":          {files: "-- kustomization.yaml --\npatchesStrategicMerge: [URL/a]\n"},
	"a JSON patch":               {files: "-- kustomization.yaml --\npatchesJson6902: [{path: URL/a, target: {kind: Pod, name: a, version: v1}}]\n"},
	"a replacement":              {files: "-- kustomization.yaml --\nreplacements: [{path: URL/a}]\n"},
	"CustomResourceDefinitions":  {files: "-- kustomization.yaml --\ncrds: [URL/a]\n"},
	"a schema":                   {files: "-- kustomization.yaml --\nopenapi: {path: URL/a}\n"},
	"configurations":             {files: "-- kustomization.yaml --\nconfigurations: [URL/a]\n"},
	"a generator":                {files: "-- kustomization.yaml --\ngenerators: [URL/a]\n"},
	"a transformer":              {files: "-- kustomization.yaml --\ntransformers: [URL/a]\n"},
	"a validator":                {files: "-- kustomization.yaml --\nvalidators: [URL/a]\n"},
	"a plugin in a text file":    {files: "-- kustomization.yaml --\ntransformers: [a.txt]\n-- a.txt --\n" + builtin + "kind: PatchTransformer\npath: URL/a\n"},
	"a plugin without extension": {files: "-- kustomization.yaml --\ngenerators: [a]\n-- a --\n" + builtin + "kind: ConfigMapGenerator\nname: a\nfiles: [URL/a]\n"},
	"a plugin in a folder":       {files: "-- kustomization.yaml --\ntransformers: [t]\n-- t/kustomization.yaml --\nresources: [a.txt]\n-- t/a.txt --\n" + builtin + "kind: PatchTransformer\npath: URL/a\n"},
	"an inline plugin":           {files: "-- kustomization.yaml --\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: ReplacementTransformer\n  metadata: {name: p}\n  replacements: [{path: URL/a}]\n"},
	"a generated plugin": {
		files: "-- kustomization.yaml --\ntransformers: [t]\n-- t/kustomization.yaml --\nresources: [a.yaml]\npatches:\n- patch: |-\n    - {op: replace, path: /path, value: \"URL/a\"}\n" +
			"  target: {kind: PatchTransformer}\n-- t/a.yaml --\n" + builtin + "kind: PatchTransformer\npath: a\n",
	},
	"a chart": {
		files: "-- kustomization.yaml --\nhelmCharts: [{name: a, repo: URL, version: v1}]\n", want: "must specify --enable-helm",
	},
	"a plugin for charts": {
		files: "-- kustomization.yaml --\ngenerators: [a.yaml]\n-- a.yaml --\n" + builtin + "kind: HelmChartInflationGenerator\nname: a\nrepo: URL\n", want: "must specify --enable-helm",
	},
	"a program as a plugin":   {files: "-- kustomization.yaml --\ngenerators: [a.yaml]\n-- a.yaml --\napiVersion: example.com/v1\nkind: Run\nmetadata: {name: a}\nargsOneLiner: run\n", want: "external plugins disabled"},
	"a program as a function": {files: function("      exec: {path: ./run}\n"), want: "external plugins disabled"},
	"a script as a function":  {files: function("      starlark: {path: run, name: run}\n"), want: "external plugins disabled"},
	"an image as a function":  {files: function("      container: {image: HOST/a, network: true}\n"), want: "external plugins disabled"},
}

// TestHostileKustomizations checks that nothing that a kustomization names is fetched or run: by what kustomize is given, whatever its text.
func TestHostileKustomizations(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var connections atomic.Int32
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Add(1)
			c.Close()
		}
	}()
	programs, marker := t.TempDir(), filepath.Join(t.TempDir(), "ran")
	for _, name := range []string{"git", "ssh", "helm", "helmV3", "docker", "go"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\necho \"$0 $*\" >>"+marker+"\nexit 1\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("MARKER", marker)
	host := listener.Addr().String()
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			want := c.want
			if want == "" {
				want = "is not fetched"
			}
			directory := unpack(t, strings.NewReplacer("URL", "http://"+host, "HOST", host).Replace(c.files))
			_ = os.Chmod(filepath.Join(directory, "run"), 0o755)
			t.Chdir(directory)
			set, err := Load(t.Context(), Options{Filenames: []string{"."}})
			if err != nil {
				t.Fatal(err)
			}
			if set.Err() == nil || !strings.Contains(set.Err().Error(), want) {
				t.Errorf("problems %v, want one with %q", set.Err(), want)
			}
			if n := connections.Swap(0); n > 0 {
				t.Errorf("%d connections were made", n)
			}
			if ran, err := os.ReadFile(marker); err == nil {
				t.Errorf("programs were run: %s", ran)
				_ = os.Remove(marker)
			}
		})
	}
}

// TestKustomizationFiles checks that a kustomization reads what lies in its folder, and no link leads out of it.
func TestKustomizationFiles(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{outside, "link", "../secret", "/etc/hostname"} {
		t.Chdir(unpack(t, "-- a/kustomization.yaml --\nconfigMapGenerator: [{name: a, files: [k="+file+"]}]\n-- secret --\nsecret\n"))
		if err := os.Symlink(outside, "a/link"); err != nil {
			t.Fatal(err)
		}
		set, err := Load(t.Context(), Options{Filenames: []string{"a"}})
		if err != nil {
			t.Fatal(err)
		}
		if set.Err() == nil || !strings.Contains(set.Err().Error(), "is not in or below") {
			t.Errorf("%s: problems %v", file, set.Err())
		}
	}
}
