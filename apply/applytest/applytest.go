// Package applytest reads the objects and schemas that the tests of apply and of the packages
// below it have in common.
package applytest

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/apply/merge"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// Parse reads an object as YAML, or as JSON where it matters how a number is written.
func Parse(t testing.TB, data []byte) *unstructured.Unstructured {
	t.Helper()
	if !bytes.HasPrefix(data, []byte("{")) {
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			t.Fatal(err)
		}
	}
	object := map[string]any{}
	if err := json.Unmarshal(data, &object); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: object}
}

// Pod returns the Pod in testdata, as a hook desires it and as the API server keeps it.
func Pod(t testing.TB, testdata string) (observed, desired *unstructured.Unstructured) {
	t.Helper()
	desired = Parse(t, read(t, testdata, "pod", "desired.yaml"))
	out, err := merge.WithAnnotation(Parse(t, read(t, testdata, "pod", "observed.yaml")).Object, desired.Object)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: out}, desired
}

// Kinds reads the schemas that the API server had when the cases in testdata were recorded.
func Kinds(t testing.TB, testdata string) map[schema.GroupVersionKind]*openapi.Kind {
	t.Helper()
	kinds, err := openapi.Parse(read(t, testdata, "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	return kinds
}

func read(t testing.TB, path ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
