package offline

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// trial is a case that is run with libretto test and on a real API server.
type trial struct {
	*env.Env
	test      *controllertest.ControllerTest
	testCase  *controllertest.Case
	set       *manifest.Set
	given     []*unstructured.Unstructured
	resources []memcluster.Resource
	// offline is what libretto test did, by step.
	offline []step
	// want are the objects of libretto test after the steps so far, by name.
	want map[string]*object
	// verbs are those of the writes of libretto test, by the name of the object, but for those of a status.
	verbs map[string][]string
	// statuses are those of the parents.
	statuses map[string]any
	// revisions are the names of ControllerRevisions, in the order in which libretto test created them. They depend on the parent's UID.
	revisions []string
	// invalid is that of the present step.
	invalid string
	// since is when the definition was created.
	since cluster.Mark
}

// step is a step of a golden file.
type step struct {
	Passes []struct {
		Pass   string           `json:"pass"`
		Writes []map[string]any `json:"writes"`
		Status any              `json:"status"`
		Gone   bool             `json:"gone"`
	} `json:"passes"`
}

// newTrial reads a case, and runs it with libretto test.
func newTrial(e *env.Env, file, name string) *trial {
	e.T.Helper()
	t := &trial{Env: e, want: map[string]*object{}, verbs: map[string][]string{}, statuses: map[string]any{}}
	text, err := os.ReadFile(file)
	e.NoError(err)
	parsed, problems := controllertest.Parse(file, text)
	if len(problems) > 0 {
		e.T.Fatal(problems)
	}
	for _, test := range parsed.Tests {
		if i := slices.IndexFunc(test.Cases, func(c controllertest.Case) bool { return c.Name == name }); i >= 0 {
			t.test, t.testCase = test, &test.Cases[i]
		}
	}
	if t.test == nil {
		e.T.Fatalf("%s has no case %q", file, name)
	}
	if len(t.testCase.Steps) == 0 {
		t.testCase.Steps = []controllertest.Step{t.testCase.Step}
	}
	if t.test.Namespace == "" {
		t.test.Namespace = "default"
	}
	t.Env = e.InNamespace(t.test.Namespace)
	t.load(file)
	t.runOffline(file, text)
	return t
}

// load reads the definition and what is given.
func (t *trial) load(file string) {
	t.T.Helper()
	folder := filepath.Dir(file)
	options := manifest.Options{
		Filenames: []string{filepath.Join(folder, t.test.Definition)}, Namespace: t.test.Namespace,
		Ignore: func(name string) bool { return strings.HasSuffix(name, controllertest.FileSuffix) },
	}
	for _, given := range slices.Concat(t.test.Given, t.testCase.Given) {
		if given.Object != nil {
			t.given = append(t.given, &unstructured.Unstructured{Object: given.Object})
			continue
		}
		name := filepath.Join(folder, given.File)
		options.CRDs = append(options.CRDs, name)
		text, err := os.ReadFile(name)
		t.NoError(err)
		objects, problems := document.Read(name, text)
		if len(problems) > 0 {
			t.T.Fatal(problems)
		}
		for _, o := range objects {
			if o.GetKind() != "CustomResourceDefinition" && o.GroupVersionKind().Group != env.CompositeControllers.Group {
				t.given = append(t.given, o.Unstructured)
			}
		}
	}
	var err error
	t.set, err = manifest.Load(t.T.Context(), options)
	t.NoError(err)
	if name := t.test.DefinitionRef; name != "" {
		t.set.Definitions = slices.DeleteFunc(t.set.Definitions, func(o *document.Object) bool { return o.GetName() != name })
	}
	t.NoError(t.set.Err())
	t.resources = append(memcluster.BuiltIn(), t.set.Resources()...)
}

// runOffline runs libretto test on a file with nothing but the case, and reads its golden file.
func (t *trial) runOffline(file string, text []byte) {
	t.T.Helper()
	fields := t.alone(text)
	alone, err := yaml.Marshal(fields)
	t.NoError(err)
	path := filepath.Join(filepath.Dir(file), "alone_test.yaml")
	t.NoError(os.WriteFile(path, alone, 0o600))
	golden := filepath.Join(filepath.Dir(file), "golden.yaml")
	defer os.Remove(golden)
	defer os.Remove(path)
	libretto, err := cluster.Binary("libretto")
	t.NoError(err)
	if out, err := exec.CommandContext(t.T.Context(), libretto, "test", "--update", path).CombinedOutput(); err != nil {
		t.T.Fatalf("libretto test: %v\n%s", err, out)
	}
	recorded, err := os.ReadFile(golden)
	t.NoError(err)
	t.NoError(yaml.Unmarshal(recorded, &t.offline))
	if len(t.testCase.Steps) != len(t.offline) {
		t.T.Fatalf("%d steps are recorded, want %d:\n%s", len(t.offline), len(t.testCase.Steps), recorded)
	}
}

// alone returns the document of a test file that has the case, with no other case, and with the one definition that the case is run for.
func (t *trial) alone(text []byte) map[string]any {
	t.T.Helper()
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var fields map[string]any
		t.NoError(yaml.Unmarshal([]byte(document), &fields))
		all, _ := fields["cases"].([]any)
		for _, item := range all {
			one := item.(map[string]any)
			if name := one["name"]; name != t.testCase.Name && fmt.Sprintf("%s (%s)", name, t.test.Definition) != t.testCase.Name {
				continue
			}
			delete(fields, "definitions")
			if t.test.Definition != "" {
				fields["definition"] = t.test.Definition
			}
			one["golden"], fields["cases"] = "golden.yaml", []any{one}
			return fields
		}
	}
	t.T.Fatalf("there is no case %q", t.testCase.Name)
	return nil
}

// run runs the case on the real API server, and compares.
func (t *trial) run() {
	t.T.Helper()
	defer t.cleanUp()
	for _, crd := range t.set.CRDs {
		t.ApplyObject(crd.Unstructured)
	}
	for _, o := range slices.Concat(others(t.set), t.given) {
		t.create(o)
	}
	t.since = t.Mark()
	definition := t.set.Definitions[0].Unstructured
	for i := range t.testCase.Steps {
		t.edit(&t.testCase.Steps[i])
		t.replay(t.offline[i])
		if i == 0 {
			t.ApplyObject(definition)
		}
		t.Eventually(t.compareObjects)
	}
	if len(t.verbs) == 0 {
		t.T.Error("libretto test writes nothing, so that nothing is compared")
	}
	t.WaitForQuiet()
	if err := t.compareObjects(); err != nil {
		t.T.Errorf("once nothing is written any more: %v", err)
	}
	t.compareVerbs()
}

// others returns the objects of a set that are no definitions.
func others(set *manifest.Set) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, o := range set.Objects {
		all = append(all, o.Unstructured)
	}
	return all
}

// replay makes the writes of libretto test in a step on the wanted objects.
func (t *trial) replay(s step) {
	t.T.Helper()
	for _, pass := range s.Passes {
		for _, write := range pass.Writes {
			t.replayWrite(write)
		}
		t.statuses[pass.Pass] = pass.Status
		if pass.Gone {
			delete(t.want, pass.Pass)
			delete(t.statuses, pass.Pass)
			t.collect(pass.Pass)
		}
	}
}

const revisionKind = "ControllerRevision"

// writeVerbs are the verbs of a golden file.
var writeVerbs = []string{"create", "update", "update status", "patch", "patch status", "delete"}

func (t *trial) replayWrite(write map[string]any) {
	t.T.Helper()
	for _, verb := range writeVerbs {
		name, made := write[verb].(string)
		if !made || write["refused"] != nil || strings.HasSuffix(verb, " status") {
			continue
		}
		if t.verbs[name] == nil && strings.HasPrefix(name, revisionKind+"/") {
			t.revisions = append(t.revisions, name)
		}
		t.verbs[name] = append(t.verbs[name], verb)
		with, _ := write["with"].(map[string]any)
		switch {
		case write["gone"] == true:
			delete(t.want, name)
		case verb == "delete":
			t.deleteWanted(name)
		case t.want[name] == nil:
			kind, _, _ := strings.Cut(name, "/")
			t.want[name] = &object{kind: t.kindOf("", kind), fields: with}
		default:
			t.want[name].fields = merged(t.want[name].fields, with)
		}
	}
}

// deleteWanted deletes a wanted object, once no finalizer holds it.
func (t *trial) deleteWanted(name string) {
	o := t.want[name]
	if o == nil {
		return
	}
	if o.deleted = true; len(o.finalizers()) == 0 {
		delete(t.want, name)
	}
}

// collect deletes what a parent that is gone owned.
func (t *trial) collect(parent string) {
	kind, rest, _ := strings.Cut(parent, "/")
	owner := fmt.Sprintf("controller %s %s", kind, rest[strings.LastIndex(rest, "/")+1:])
	for name, o := range t.want {
		if slices.ContainsFunc(o.owners(), func(line string) bool { return strings.HasPrefix(line, owner+" ") }) {
			delete(t.want, name)
		}
	}
}

// kindOf returns a kind by its name.
func (t *trial) kindOf(apiVersion, kind string) memcluster.Resource {
	t.T.Helper()
	var found *memcluster.Resource
	for i, resource := range t.resources {
		switch gvk := resource.Kind; {
		case gvk.Kind != kind || apiVersion != "" && schema.FromAPIVersionAndKind(apiVersion, kind) != gvk:
		case found == nil || gvk.Group == env.Revisions.Group || gvk.Group == "":
			found = &t.resources[i]
		}
	}
	if found == nil {
		t.T.Fatalf("there is no kind %s %s", apiVersion, kind)
	}
	return *found
}
