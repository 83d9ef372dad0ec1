package apply

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/test/env"
)

var update = flag.Bool("update", false, "record what the API server has, in apply/merge/testdata")

// testdata belongs to package apply, whose own tests run the same cases without an API server.
const testdata = "../../../apply/merge/testdata/"

// TestServedCases runs the cases of apply/merge/testdata/served against the API server: with
// the schemas that it tells, and without any.
func TestServedCases(t *testing.T) {
	files, err := filepath.Glob(testdata + "served/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	b := newDynamicEnv(t)
	limiting := b.elsewhere()
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			env.NoError(t, err)
			c := servedCase{dynamicEnv: b.in(t), archive: archive, file: file, name: name}
			if limits(c.object("desired")) {
				c.dynamicEnv = limiting.in(t)
			}
			c.run()
		})
	}
}

// servedCase is a file.
type servedCase struct {
	*dynamicEnv
	archive    *txtar.Archive
	file, name string
}

func (c servedCase) run() {
	desired := c.object("desired")
	c.begin()
	c.record("observed", scrubbed(c.live(desired)))
	env.NoError(c.t, c.settles(desired))
	c.record("after", scrubbed(c.live(desired)))
	if *update {
		env.NoError(c.t, os.WriteFile(c.file, txtar.Format(c.archive), 0o644))
	}
	c.schemas = nil
	c.delete(desired)
	c.begin()
	err, reason := c.settles(desired), c.section("only with schema")
	if (err == nil) != (reason == nil) {
		c.t.Errorf("without schema: %v, and the section about that is %q", err, reason)
	}
}

// limits says that an object has an effect on others of its namespace.
func limits(object *unstructured.Unstructured) bool {
	return object.GetKind() == "LimitRange" || object.GetKind() == "ResourceQuota"
}

// begin makes the object, and lets another writer change it.
func (c servedCase) begin() {
	c.t.Helper()
	if given := c.object("given"); given != nil {
		if _, err := c.resource(given).Create(c.t.Context(), given, metav1.CreateOptions{}); err != nil {
			c.t.Fatal(err)
		}
	}
	if before := c.object("before"); before != nil {
		env.NoError(c.t, c.sync(before))
	}
	if foreign := c.section("foreign"); foreign != nil {
		patch, err := yaml.YAMLToJSON(foreign)
		env.NoError(c.t, err)
		target := c.object("desired")
		if _, err := c.resource(target).Patch(c.t.Context(), c.name, types.MergePatchType, patch,
			metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c servedCase) section(name string) []byte {
	i := slices.IndexFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return c.archive.Files[i].Data
}

// object reads a section, or gives nil if there is none.
func (c servedCase) object(section string) *unstructured.Unstructured {
	c.t.Helper()
	data := c.section(section)
	if data == nil {
		return nil
	}
	if !bytes.HasPrefix(data, []byte("{")) { // JSON is kept where it matters how a number is written.
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			c.t.Fatal(err)
		}
	}
	object := &unstructured.Unstructured{}
	env.NoError(c.t, json.Unmarshal(data, &object.Object))
	object.SetName(c.name)
	object.SetNamespace(c.namespace)
	return object
}

// random finds the names of volumes that admission adds to Pods.
var random = regexp.MustCompile(`(kube-api-access-)\w+`)

// record compares an object with a section, or writes the section.
func (c servedCase) record(section string, object *unstructured.Unstructured) {
	c.t.Helper()
	text, err := yaml.Marshal(object.Object)
	env.NoError(c.t, err)
	text = random.ReplaceAll(text, []byte("${1}xxxxx"))
	if !*update {
		if diff := cmp.Diff(string(c.section(section)), string(text)); diff != "" {
			c.t.Errorf("\n%s\n%s (-recorded, +now):\n%s", c.archive.Comment, section, diff)
		}
		return
	}
	i := slices.IndexFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == section })
	if i < 0 {
		i = len(c.archive.Files)
		c.archive.Files = append(c.archive.Files, txtar.File{Name: section})
	}
	c.archive.Files[i].Data = text
}

// live returns the object that is there.
func (c servedCase) live(object *unstructured.Unstructured) *unstructured.Unstructured {
	c.t.Helper()
	live := c.find(object)
	if live == nil {
		c.t.Fatalf("%s is not there", apply.KeyOf(object))
	}
	return live
}

// scrubbed leaves out what is different each time, or is not the case's.
func scrubbed(object *unstructured.Unstructured) *unstructured.Unstructured {
	out := object.DeepCopy()
	for _, field := range []string{"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "namespace",
		"ownerReferences", "deletionTimestamp"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	for _, field := range []string{"clusterIP", "clusterIPs", "nodeName"} {
		unstructured.RemoveNestedField(out.Object, "spec", field)
	}
	annotations := out.GetAnnotations()
	delete(annotations, merge.LastApplied)
	labels := out.GetLabels()
	delete(labels, "touched")
	if out.SetLabels(labels); len(labels) == 0 {
		unstructured.RemoveNestedField(out.Object, "metadata", "labels")
	}
	delete(annotations, "deployment.kubernetes.io/revision")
	if out.SetAnnotations(annotations); len(annotations) == 0 {
		unstructured.RemoveNestedField(out.Object, "metadata", "annotations")
	}
	delete(out.Object, "status")
	removeUnsetTimes(out.Object)
	return out
}

// removeUnsetTimes removes what API servers before Kubernetes 1.34 add to the metadata of templates.
func removeUnsetTimes(value any) {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(name string, value any) bool { return name == "creationTimestamp" && value == nil })
		for _, v := range value {
			removeUnsetTimes(v)
		}
	case []any:
		for _, v := range value {
			removeUnsetTimes(v)
		}
	}
}
