package v1alpha1

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/yaml"
)

// The manifests that the API server is shown, by test/integration/api.
const (
	goodManifests = "../../../test/integration/api/testdata/good"
	badManifests  = "../../../test/integration/api/testdata/bad"
)

func readAll(t *testing.T, pattern string, least int) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) < least {
		t.Fatalf("%d files are %s (%v), want at least %d", len(files), pattern, err, least)
	}
	all := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = data
	}
	return all
}

// TestManifestsDecode decodes every good manifest strictly and shows that nothing it says is lost.
func TestManifestsDecode(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for name, manifest := range readAll(t, filepath.Join(goodManifests, "*.yaml"), 25) {
		t.Run(name, func(t *testing.T) {
			object, kind, err := decoder.Decode(manifest, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if kind.GroupVersion() != GroupVersion {
				t.Errorf("decoded as %v", kind)
			}
			if again := object.DeepCopyObject(); !equality.Semantic.DeepEqual(object, again) {
				t.Errorf("the deep copy differs:\n%s", cmp.Diff(object, again))
			}
			written, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			kept := fields(t, written)
			for _, field := range slices.Sorted(maps.Keys(fields(t, manifest))) {
				if _, ok := kept[field]; !ok {
					t.Errorf("%s is lost", field)
				}
			}
		})
	}
}

// fields gives the paths of all values in a YAML document that are neither objects nor
// lists. Of these, empty ones may go without loss.
func fields(t *testing.T, document []byte) map[string]any {
	t.Helper()
	var value any
	if err := yaml.UnmarshalStrict(document, &value); err != nil {
		t.Fatal(err)
	}
	found := map[string]any{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for key, inner := range value {
				walk(path+"."+key, inner)
			}
		case []any:
			for i, inner := range value {
				walk(fmt.Sprintf("%s[%d]", path, i), inner)
			}
		default:
			found[path] = value
		}
	}
	walk("", value)
	return found
}

// TestManifestsCoverFields shows that some good manifest gives every field of every spec.
func TestManifestsCoverFields(t *testing.T) {
	given := map[string]bool{}
	for _, manifest := range readAll(t, filepath.Join(goodManifests, "*.yaml"), 25) {
		for path := range fields(t, manifest) {
			for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' }) {
				given[step] = true
			}
		}
	}
	for name, crd := range definitions(t) {
		walkSchema(crd, "", func(path string, s *properties) {
			for field := range s.Properties {
				if strings.HasPrefix(path, "spec") && !given[field] {
					t.Errorf("%s: no good manifest gives %s.%s", name, path, field)
				}
			}
		})
	}
}
