// Package offline checks that `libretto test` writes what a host writes on a real API server: the same cases are run on both, and
// compared object by object. And it applies the examples as their READMEs do.
package offline

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

func TestMain(m *testing.M) {
	kustomize.Main()
	os.Exit(cluster.Main(m))
}

// examples are cases of the examples, by test file: each example has one at least.
var examples = map[string][]string{
	"bluegreen/bluegreen_test.yaml": {"all goes with the BlueGreenDeployment"},
	"catset/catset_test.yaml": {
		"from the highest down to none, one at a time, and claims stay", "a Pod that is lost comes back, and those above it stay",
	},
	"decorator/decorator_test.yaml": {"the Services go with the annotation", "the Services go with the StatefulSet"},
	"fallback/fallback_test.yaml":   {"an edit changes the ConfigMap"},
	"hello/hello_test.yaml": {
		"what somebody else writes into the text is undone",
		"a ConfigMap that is deleted comes back",
	},
	"indexedjob/indexedjob_test.yaml": {
		"what is done stays done when its Pod is cleaned up",
		"the number of indexes can't change",
	},
	"map/map_test.yaml": {"an entry follows its ConfigMap, and goes with it"},
	"migration/migration_test.yaml": {
		"its status follows the Deployment (unchanged)",
		"an edit reaches the page and its server (after)",
	},
	"namespacedefaults/namespacedefaults_test.yaml": {"a namespace that loses its size loses the defaults"},
	"previews/previews_test.yaml":                   {"one that is taken off the list goes, and the next one takes its place"},
	"secretpropagation/secretpropagation_test.yaml": {
		"copies stay when the Secret is lost, and follow it when it is back",
		"a namespace that gets the label gets a copy, and one that loses it loses the copy",
	},
	"snapshotschedule/snapshotschedule_test.yaml": {"an interval that is longer than history has begun in 1970"},
	"teardown/teardown_test.yaml":                 {"what holds up a step is in the status"},
	"ttl/ttl_test.yaml":                           {"ConfigMaps are adopted, and what is used stays as it is"},
	"vitess/shard_test.yaml":                      {"a tablet that is lost comes back on its claim"},
	"webapp/webapp_test.yaml": {
		"without an Ingress nobody sees it from outside (typescript)", "what is deleted comes back (jsonnet)",
		"an Ingress with a class and a certificate (cel)",
	},
}

// TestEveryExample checks that each example is among those of which cases are run on a real API server, and those that are applied.
// Vitess is applied by its demonstration, which test/integration/demo runs, and the tenants with their rights by test/integration/rights.
func TestEveryExample(t *testing.T) {
	root, err := cluster.Root()
	env.NoError(t, err)
	entries, err := os.ReadDir(filepath.Join(root, "examples"))
	env.NoError(t, err)
	tried := map[string]bool{}
	for file := range examples {
		tried[path.Dir(file)] = true
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || name == "tenants" {
			continue
		}
		if !tried[name] {
			t.Errorf("no case of examples/%s is run on a real API server: name one that has only edits, in examples", name)
		}
		if _, is := appliedExamples[name]; !is && name != "vitess" {
			t.Errorf("examples/%s is not applied: add it to appliedExamples, with its result", name)
		}
	}
}

// TestSameAnswer runs cases of the examples, and those in testdata, with libretto test and on a real API server. After each step all
// objects that either has are equal, and in the end each object was written by the same verbs in the same order.
func TestSameAnswer(t *testing.T) {
	e := env.New(t)
	root, err := cluster.Root()
	env.NoError(t, err)
	folder := t.TempDir()
	env.NoError(t, os.CopyFS(folder, os.DirFS(filepath.Join(root, "examples"))))
	archive := t.TempDir()
	env.NoError(t, os.Mkdir(filepath.Join(archive, ".git"), 0o755)) // Tests read what is in their repository.
	cases := unpack(t, "testdata/cases.txtar", archive)
	if len(cases) < 10 {
		t.Fatalf("there are %d cases in testdata, want ten at least", len(cases))
	}
	applyCRDs(e, folder)
	applyCRDs(e, archive)
	e.Start()
	for file, names := range examples {
		for _, name := range names {
			t.Run(strings.TrimSuffix(filepath.Base(file), "_test.yaml")+"/"+name, func(t *testing.T) {
				newTrial(e.WithT(t), filepath.Join(folder, file), name).run()
			})
		}
	}
	for _, name := range cases {
		t.Run(name, func(t *testing.T) {
			newTrial(e.WithT(t), filepath.Join(archive, name, name+"_test.yaml"), name).run()
		})
	}
}

// applyCRDs applies all CustomResourceDefinitions below a folder. A host that starts after that knows them, and need not look for new
// resources before each example, which takes seconds.
func applyCRDs(e *env.Env, folder string) {
	e.T.Helper()
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".yaml" || strings.HasSuffix(name, controllertest.FileSuffix) {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil || !strings.Contains("\n"+string(text), "\nkind: CustomResourceDefinition\n") {
			return err
		}
		objects, problems := document.Read(name, text)
		if len(problems) > 0 {
			return fmt.Errorf("%s: %v", name, problems)
		}
		for _, o := range objects {
			if o.GetKind() == "CustomResourceDefinition" {
				e.ApplyObject(o.Unstructured)
			}
		}
		return nil
	})
	e.NoError(err)
}

// unpack writes the files of an archive, and returns the names of the folders with tests.
func unpack(t *testing.T, archive, folder string) []string {
	t.Helper()
	parsed, err := txtar.ParseFile(archive)
	env.NoError(t, err)
	var names []string
	for _, file := range parsed.Files {
		path := filepath.Join(folder, filepath.FromSlash(file.Name))
		env.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		env.NoError(t, os.WriteFile(path, file.Data, 0o644))
		if name := filepath.Dir(file.Name); file.Name == fmt.Sprintf("%s/%s_test.yaml", name, name) {
			names = append(names, name)
		}
	}
	return names
}
