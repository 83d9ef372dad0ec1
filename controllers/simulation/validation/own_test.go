package validation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// parse reads an object as clients of the API server do: with integers as int64.
func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(asJSON, &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestDefinitions(t *testing.T) {
	const composite = `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}, spec: %}`
	cases := map[string]struct {
		reason, spec string
		dropped      []string
		invalid      string
		path         []string // of a value that is stored
		value        any
	}{
		"Defaults": {
			reason: "Defaults are those of the CRD.",
			spec:   `{parentResource: {apiVersion: v1, resource: configmaps}, hooks: {sync: {script: {inline: x, engine: JavaScript}}}, generateSelector: true, childResources: [{apiVersion: v1, resource: pods}]}`,
			path:   []string{"spec", "hooks", "sync", "version"}, value: "v1",
		},
		"Unknown": {
			reason:  "An unknown field is dropped, and reported.",
			spec:    `{parentResource: {apiVersion: v1, resource: configmaps, kind: x}, hooks: {sync: {script: {inline: x, engine: JavaScript}}}}`,
			dropped: []string{"spec.parentResource.kind"},
		},
		"Invalid": {
			reason:  "The schema has its say.",
			spec:    `{parentResource: {apiVersion: v1, resource: configmaps}, hooks: {sync: {script: {inline: x, engine: JavaScript}}}, resyncPeriodSeconds: x}`,
			invalid: "spec.resyncPeriodSeconds",
		},
		"Rule": {
			reason:  "The CEL rules have theirs.",
			spec:    `{parentResource: {apiVersion: v1, resource: configmaps}, hooks: {sync: {}}}`,
			invalid: "spec.hooks.sync",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			stored := Definitions(parse(t, strings.Replace(composite, "%", tc.spec, 1)))[0]
			if stored.Err != nil {
				t.Fatal(stored.Err)
			}
			if diff := cmp.Diff(tc.dropped, stored.Dropped); diff != "" {
				t.Errorf("%s dropped: -want +got:\n%s", tc.reason, diff)
			}
			if aggregate := stored.Invalid.ToAggregate(); (aggregate != nil) != (tc.invalid != "") || aggregate != nil && !strings.Contains(aggregate.Error(), tc.invalid) {
				t.Errorf("%s got %v, want %q", tc.reason, aggregate, tc.invalid)
			}
			if tc.path != nil {
				if got, _, _ := unstructured.NestedFieldNoCopy(stored.Object, tc.path...); got != tc.value {
					t.Errorf("%s got %v, want %v", tc.reason, got, tc.value)
				}
			}
		})
	}
}

func TestDefinitionOfAnotherKind(t *testing.T) {
	for _, text := range []string{
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`,
		`{apiVersion: example.com/v1, kind: CompositeController, metadata: {name: c}}`,
	} {
		if Definitions(parse(t, text))[0].Err == nil {
			t.Errorf("%s is taken for a definition", text)
		}
	}
}

// TestManifests checks that definitions are accepted and refused as by the API server, in the same words: test/integration/api has
// each of these manifests against a real one.
func TestManifests(t *testing.T) {
	for folder, least := range map[string]int{"good": 25, "bad": 50} {
		files, err := filepath.Glob(filepath.Join("..", "..", "..", "test", "integration", "api", "testdata", folder, "*.yaml"))
		if err != nil || len(files) < least {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, file := range files {
			t.Run(folder+"/"+filepath.Base(file), func(t *testing.T) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				object := parse(t, string(text))
				if !strings.HasSuffix(object.GetKind(), "Controller") {
					t.Skip("no definition")
				}
				stored := Definitions(object)[0]
				if stored.Err != nil {
					t.Fatal(stored.Err)
				}
				message := strings.Join(stored.Dropped, "\n")
				if len(stored.Invalid) > 0 {
					message += stored.Invalid.ToAggregate().Error()
				}
				if refused := message != ""; refused != (folder == "bad") {
					t.Errorf("got %q", message)
				}
				for line := range strings.Lines(string(text)) {
					if want, ok := strings.CutPrefix(strings.TrimSpace(line), "# want: "); ok && !strings.Contains(message, strings.TrimPrefix(strings.Trim(want, `"`), "unknown field \"")) {
						t.Errorf("the message lacks %q: %s", want, message)
					}
				}
			})
		}
	}
}
