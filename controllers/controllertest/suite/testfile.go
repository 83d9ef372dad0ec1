package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
)

// testFile is a test file that was read.
type testFile struct {
	name string
	// within bounds what it names.
	within   manifest.Boundary
	problems []*document.Error
	tests    []*testDocument

	mu     sync.Mutex
	inputs Inputs
	// recorded are the golden files that this run has written, or found the same.
	recorded map[string][]byte
}

// testDocument is a document of a test file: cases with one subject.
type testDocument struct {
	*controllertest.ControllerTest
	// subject returns what is tested, and loads it the first time.
	subject func() (*controllertest.Subject, error)
}

// read reads a test file.
func (r *runner) read(ctx context.Context, name string) (*testFile, error) {
	text, err := readFile(name)
	if err != nil {
		return nil, err
	}
	f := &testFile{name: name, inputs: Inputs{}}
	if f.within, err = manifest.BoundaryOf(name); err != nil {
		return nil, err
	}
	f.uses(name)
	parsed, problems := controllertest.Parse(name, text)
	f.problems = problems
	if len(problems) > 0 {
		return f, nil
	}
	for _, test := range parsed.Tests {
		f.tests = append(f.tests, &testDocument{ControllerTest: test, subject: sync.OnceValues(func() (*controllertest.Subject, error) {
			return r.subjectOf(ctx, f, test)
		})})
	}
	return f, nil
}

// uses notes files and directories that the file's results depend on.
func (f *testFile) uses(names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		f.inputs[filepath.Clean(name)] = f.inputs[filepath.Clean(name)]
	}
}

// usesAllIn notes directories all of whose files matter.
func (f *testFile) usesAllIn(directories iter.Seq[string]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for name := range directories {
		f.inputs[filepath.Clean(name)] = true
	}
}

// path returns the path of a file that is named relative to the test file.
func (f *testFile) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(f.name), filepath.FromSlash(name))
}

// readFile returns the text of a file that is named relative to the test file.
func (f *testFile) readFile(name string) ([]byte, error) {
	if err := f.within.Check(f.path(name)); err != nil {
		return nil, err
	}
	return readFile(f.path(name))
}

// checkWithin returns an error with a place for a path that a document names and may not.
func (f *testFile) checkWithin(test *controllertest.ControllerTest, field, name string) error {
	if err := f.within.Check(f.path(name)); err != nil {
		return &document.Error{Location: test.Location, Message: fmt.Sprintf("%s: %v", field, err)}
	}
	return nil
}

// subjectOf loads what a document tests.
func (r *runner) subjectOf(ctx context.Context, f *testFile, test *controllertest.ControllerTest) (*controllertest.Subject, error) {
	from, err := f.sourceOf(test)
	if err != nil {
		return nil, err
	}
	f.uses(from.definition)
	f.usesAllIn(maps.Values(from.scripts))
	shared, inputs, err := r.subjects.load(ctx, from)
	f.uses(inputs...)
	f.usesAllIn(slices.Values(shared.directories))
	if err != nil {
		return nil, err
	}
	subject := &controllertest.Subject{
		Definition: shared.Definition, Programs: shared.Programs, Resources: shared.Resources, Compile: shared.Compile,
		ShowSecrets: r.ShowSecrets,
		ReadFile: func(name string) ([]byte, error) {
			f.uses(f.path(name))
			return f.readFile(name)
		},
	}
	if r.Update {
		subject.WriteFile = func(name string, text []byte) error {
			changed, err := f.write(name, text)
			if changed && r.Updated != nil {
				r.Updated(f.path(name))
			}
			return err
		}
	}
	return subject, nil
}

// sourceOf returns where the subject of a document comes from.
func (f *testFile) sourceOf(test *controllertest.ControllerTest) (source, error) {
	from := source{
		definition: f.path(test.Definition), ref: test.DefinitionRef, namespace: test.Namespace, scripts: map[string]string{}, within: f.within,
	}
	if err := f.checkWithin(test, "definition", test.Definition); err != nil {
		return from, err
	}
	for name, directory := range test.Scripts {
		if !new(manifest.Options).AddScripts(name, directory) {
			return from, &document.Error{
				Location: test.Location,
				Message:  fmt.Sprintf("scripts: %q must be NAMESPACE/NAME of a ConfigMap, or KIND/NAMESPACE/NAME of an object of Flux", name),
			}
		}
		if err := f.checkWithin(test, "scripts", directory); err != nil {
			return from, err
		}
		from.scripts[name] = f.path(directory)
	}
	kinds := map[schema.GroupVersionKind]bool{}
	given := slices.Clone(test.Given)
	for _, c := range test.Cases {
		given = append(given, c.Given...)
		for _, step := range append(c.Steps, c.Step) {
			for _, object := range slices.Concat(step.Create, step.Apply) {
				addKind(kinds, object)
			}
		}
	}
	for _, g := range given {
		if g.File == "" {
			addKind(kinds, g.Object)
			continue
		}
		if err := f.checkWithin(test, "given", g.File); err != nil {
			return from, err
		}
		if f.addKindsOf(kinds, g.File) && !slices.Contains(from.crds, f.path(g.File)) {
			from.crds = append(from.crds, f.path(g.File))
		}
	}
	for kind := range kinds {
		from.kinds = append(from.kinds, kind)
	}
	slices.SortFunc(from.kinds, func(a, b schema.GroupVersionKind) int { return strings.Compare(a.String(), b.String()) })
	slices.Sort(from.crds)
	return from, nil
}

func addKind(kinds map[schema.GroupVersionKind]bool, object map[string]any) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	if gvk.Version != "" && kind != "" && kind != crdKind && gvk.Group != v1alpha1.GroupName {
		kinds[gvk] = true
	}
}

const crdKind = "CustomResourceDefinition"

// addKindsOf adds the kinds of a given file, and reports whether it has a CustomResourceDefinition. What is wrong with the file is
// reported by the cases.
func (f *testFile) addKindsOf(kinds map[schema.GroupVersionKind]bool, name string) (hasCRD bool) {
	text, err := f.readFile(name)
	if err != nil {
		return false
	}
	objects, _ := document.Read(name, text)
	for _, object := range objects {
		addKind(kinds, object.Object)
		hasCRD = hasCRD || object.GetKind() == crdKind
	}
	return hasCRD
}

// write replaces a golden file, which must be below the folder of the test file. It reports whether the file has changed. What another
// case of the run has recorded stays: the last one would win, and each run without --update would fail.
func (f *testFile) write(name string, text []byte) (changed bool, err error) {
	root, err := os.OpenRoot(filepath.Dir(f.name))
	if err != nil {
		return false, err
	}
	defer root.Close()
	f.uses(f.path(name))
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		return false, fmt.Errorf("%s: golden files are only written below the folder of the test file: name it relative to that", name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if other, is := f.recorded[name]; is && !bytes.Equal(other, text) {
		return false, fmt.Errorf("%s: this case, or this definition, does something else than one that has the same golden file: "+
			"without --update it shows what; give each a file of its own if both are right", name)
	}
	if f.recorded == nil {
		f.recorded = map[string][]byte{}
	}
	f.recorded[name] = text
	before, err := root.ReadFile(name)
	if err == nil && bytes.Equal(before, text) {
		return false, nil // So that nothing that watches the file is woken.
	}
	if err := root.MkdirAll(filepath.Dir(name), fs.ModePerm); err != nil {
		return false, err
	}
	err = root.WriteFile(name, text, 0o666)
	return err == nil, err
}

// failures returns an error, which may be several, as failures with their places.
func failures(err error) []controllertest.Failure {
	var several []controllertest.Failure
	if joined, is := err.(interface{ Unwrap() []error }); is {
		for _, e := range joined.Unwrap() {
			several = append(several, failures(e)...)
		}
		return several
	}
	var problem *document.Error
	var script *engines.Error
	switch {
	case errors.As(err, &problem):
		return []controllertest.Failure{{Location: problem.Location, Message: problem.Message}}
	case errors.As(err, &script):
		return []controllertest.Failure{{Script: script.Location, Message: strings.Join(append([]string{script.Message}, script.Stack...), "\n")}}
	default:
		return []controllertest.Failure{{Message: err.Error()}}
	}
}
