package api

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// crds is where the custom resource definitions are.
const crds = "../../../manifests/crd"

// leastGood and leastBad are how many manifests there must be, lest a wrong path test nothing.
const leastGood, leastBad = 25, 50

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// applied is set by the first test that needs the custom resource definitions.
var applied struct {
	once sync.Once
	err  error
}

// withDefinitions returns the control plane once it serves our custom resources.
func withDefinitions(t *testing.T) *cluster.Cluster {
	t.Helper()
	c := cluster.Get(t)
	applied.once.Do(func() {
		files, err := filepath.Glob(filepath.Join(crds, v1alpha1.GroupName+"_*.yaml"))
		if err != nil || len(files) != 4 {
			applied.err = fmt.Errorf("%d files in %s (%v), want 4: run tools/generate.sh", len(files), crds, err)
			return
		}
		applied.err = c.ApplyFiles(t.Context(), files...)
	})
	if applied.err != nil {
		t.Fatalf("custom resource definitions: %v", applied.err)
	}
	return c
}

// client returns a client for the resource that an object is of.
func client(c *cluster.Cluster, object *unstructured.Unstructured) dynamic.ResourceInterface {
	resource := v1alpha1.GroupVersion.WithResource(strings.ToLower(object.GetKind()) + "s")
	if namespace := object.GetNamespace(); namespace != "" {
		return c.Dynamic().Resource(resource).Namespace(namespace)
	}
	return c.Dynamic().Resource(resource)
}

func TestGood(t *testing.T) {
	c := withDefinitions(t)
	for name, manifest := range manifests(t, "good", leastGood) {
		t.Run(name, func(t *testing.T) {
			object := manifest.object(t)
			objects := client(c, object)
			stored, err := objects.Create(t.Context(), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
			if err != nil {
				t.Fatalf("refused: %v", err)
			}
			t.Cleanup(func() {
				if err := objects.Delete(context.Background(), object.GetName(), metav1.DeleteOptions{}); err != nil {
					t.Error(err)
				}
			})
			for _, claim := range manifest.notes("stored") {
				path, value, _ := strings.Cut(claim, ": ")
				want, got := parse(t, value), at(stored.Object, path)
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s: stored as %#v, want %#v", path, got, want)
				}
			}
			for _, path := range manifest.notes("absent") {
				if got := at(stored.Object, path); got != nil {
					t.Errorf("%s: stored as %#v, want nothing", path, got)
				}
			}
		})
	}
}

func TestBad(t *testing.T) {
	c := withDefinitions(t)
	for name, manifest := range manifests(t, "bad", leastBad) {
		t.Run(name, func(t *testing.T) {
			wants := manifest.notes("want")
			if len(wants) == 0 {
				t.Fatal(`the manifest has no "# want: " line`)
			}
			object := manifest.object(t)
			_, err := client(c, object).Create(t.Context(), object, metav1.CreateOptions{
				DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
			})
			if !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
				t.Fatalf("not refused as invalid: %v", err)
			}
			for _, want := range wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the message lacks %q: %v", want, err)
				}
			}
			if fields := blamed(err); len(fields) > 1 {
				t.Errorf("one mistake, and %v are blamed: %v", fields, err)
			}
		})
	}
}

// blamed returns the fields that a refusal complains about, without its remark that it did not check everything.
func blamed(err error) []string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "<nil>" && !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// manifest is the text of a manifest with its notes.
type manifest string

// manifests reads the manifests of a folder, by name.
func manifests(t *testing.T, folder string, least int) map[string]manifest {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.yaml"))
	if err != nil || len(files) < least {
		t.Fatalf("%d manifests in testdata/%s (%v), want at least %d", len(files), folder, err, least)
	}
	all := map[string]manifest{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		env.NoError(t, err)
		all[strings.TrimSuffix(filepath.Base(file), ".yaml")] = manifest(text)
	}
	return all
}

// notes returns what the comment lines of one sort say.
func (m manifest) notes(sort string) []string {
	var found []string
	for line := range strings.Lines(string(m)) {
		if note, ok := strings.CutPrefix(line, "# "+sort+": "); ok {
			found = append(found, strings.TrimSpace(note))
		}
	}
	return found
}

func (m manifest) object(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	object, ok := parse(t, string(m)).(map[string]any)
	if !ok {
		t.Fatalf("not an object: %s", m)
	}
	return &unstructured.Unstructured{Object: object}
}

// parse reads YAML as the values that package unstructured uses.
func parse(t *testing.T, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	env.NoError(t, err)
	var value any
	env.NoError(t, json.Unmarshal(data, &value))
	return value
}

// at returns the value at a path, and nil if there is none.
func at(value any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch inner := value.(type) {
		case map[string]any:
			value = inner[step]
		case []any:
			index, err := strconv.Atoi(step)
			if err != nil || index < 0 || index >= len(inner) {
				return nil
			}
			value = inner[index]
		default:
			return nil
		}
	}
	return value
}

// TestNotes holds the notes of all manifests against what can be written there, lest a
// misspelt one say nothing.
func TestNotes(t *testing.T) {
	for folder, sorts := range map[string][]string{"good": {"stored", "absent"}, "bad": {"want"}} {
		for name, manifest := range manifests(t, folder, 1) {
			for line := range strings.Lines(string(manifest)) {
				word, _, isNote := strings.Cut(strings.TrimPrefix(line, "# "), ": ")
				if strings.HasPrefix(line, "# ") && isNote && !strings.Contains(word, " ") && !slices.Contains(sorts, word) {
					t.Errorf("testdata/%s/%s.yaml: no note is called %q here, but %v", folder, name, word, sorts)
				}
			}
		}
	}
}

// TestAt shows that a path finds what it names and nothing else.
func TestAt(t *testing.T) {
	value := map[string]any{"a": []any{map[string]any{"b": "c"}}}
	for path, want := range map[string]any{"a.0.b": "c", "a.1.b": nil, "a.b": nil, "a.0.b.c": nil, "x": nil} {
		if got := at(value, path); got != want {
			t.Errorf("at(%q) = %v, want %v", path, got, want)
		}
	}
}
