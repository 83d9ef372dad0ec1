package conformance

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/controllertest"
)

// testCase is a case, read from its file.
type testCase struct {
	file         string
	archive      *txtar.Archive
	comment      string
	knownFailure string // The reason of a known failure.
	rewritten    bool   // By the first engine.
	definition   *unstructured.Unstructured
	objects      []*unstructured.Unstructured
	resources    *resources
	hooks        map[string]map[string]string // By hook, then extension.
	test         *controllertest.ControllerTest
}

// expectedName is the part with the outcome of each step.
const expectedName = "expected.yaml"

// hookNames are the hooks that a case may have files for.
var hookNames = []string{"sync", "finalize", "customize", "map", "tombstone"}

func readCase(file string) (*testCase, error) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		return nil, err
	}
	c := &testCase{file: file, archive: archive, resources: standardResources(), hooks: map[string]map[string]string{}}
	c.readComment()
	for _, f := range archive.Files {
		if err := c.read(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if c.definition == nil {
		return nil, errors.New("definition.yaml is missing")
	}
	return c, c.readTest()
}

// testHeader is what the test files of all cases have in common. The hooks of cases do what a hook should not.
const testHeader = `apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
given: [objects.yaml]
skipChecks: {Settles: passes are counted, Deterministic: all engines, Valid: there are no schemas, Declared: the pass has to refuse it}
cases:
- name: conformance
  golden: expected.yaml
  steps:
`

// readTest makes a test file of the steps. By default there is one pass over the first object.
func (c *testCase) readTest() error {
	steps := c.part("steps.yaml")
	if steps == "" && len(c.objects) > 0 {
		steps = fmt.Sprintf("- {parent: %s, passes: 1}\n", refOf(c.objects[0]))
	}
	var text strings.Builder
	text.WriteString(testHeader)
	for line := range strings.Lines(steps) {
		text.WriteString("  " + line)
	}
	file, problems := controllertest.Parse(c.file, []byte(text.String()))
	if len(problems) > 0 {
		return problems[0]
	}
	c.test = file.Tests[0]
	return nil
}

// readComment parses the lines of the comment that are directives.
func (c *testCase) readComment() {
	var rest []string
	for line := range strings.Lines(string(c.archive.Comment)) {
		if reason, ok := strings.CutPrefix(line, "known-failure:"); ok {
			c.knownFailure = strings.TrimSpace(reason)
		} else {
			rest = append(rest, line)
		}
	}
	c.comment = strings.TrimSpace(strings.Join(rest, ""))
}

func (c *testCase) read(f txtar.File) (err error) {
	switch hook, extension, _ := strings.Cut(path.Base(f.Name), "."); {
	case f.Name == "definition.yaml":
		c.definition, err = readObject(f.Data)
	case f.Name == "objects.yaml":
		c.objects, err = readObjects(f.Data)
	case f.Name == "resources.yaml":
		err = c.resources.read(f.Data)
	case f.Name == "steps.yaml", f.Name == expectedName:
	case slices.Contains(hookNames, hook):
		if c.hooks[hook] == nil {
			c.hooks[hook] = map[string]string{}
		}
		c.hooks[hook]["."+extension] = string(f.Data)
	default:
		err = errors.New("no part of a case has this name")
	}
	return err
}

// part returns the text of a part, or "".
func (c *testCase) part(name string) string {
	i := slices.IndexFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return string(c.archive.Files[i].Data)
}

func readObject(data []byte) (*unstructured.Unstructured, error) {
	objects, err := readObjects(data)
	if err == nil && len(objects) != 1 {
		err = fmt.Errorf("has %d objects where one is needed", len(objects))
	}
	if err != nil {
		return nil, err
	}
	return objects[0], nil
}

// readObjects reads YAML documents. The cluster puts objects without a namespace into default.
func readObjects(data []byte) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	var objects []*unstructured.Unstructured
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		fields, err := readFields(document)
		if err != nil {
			return nil, err
		}
		if len(fields) > 0 {
			objects = append(objects, &unstructured.Unstructured{Object: fields})
		}
	}
}

// readFields reads YAML with integers as int64, like clients of the API server.
func readFields(document []byte) (map[string]any, error) {
	text, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	err = json.Unmarshal(text, &fields)
	return fields, err
}
