package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// TestSpecHash shows which edits of a spec are edits to the guard.
func TestSpecHash(t *testing.T) {
	const spec = `{hooks: {sync: {script: {inline: a}}, finalize: {webhook: {url: u}}}, scriptSources: [{configMap: {name: a}}], resyncPeriodSeconds: 5,
childResources: [{resource: pods, updateStrategy: {method: RollingRecreate, paused: true}}], attachments: [{resource: services}]}`
	hashOf := func(text string) string {
		t.Helper()
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(text), &fields); err != nil {
			t.Fatal(err)
		}
		hash, err := (&Plan{object: &unstructured.Unstructured{Object: map[string]any{"spec": fields}}}).SpecHash()
		if err != nil {
			t.Fatal(err)
		}
		return hash
	}
	for name, c := range map[string]struct {
		old, now string
		same     bool
	}{
		"a script":           {"inline: a", "inline: b", true},
		"a source":           {"name: a", "name: b", true},
		"the pace":           {"paused: true", "paused: false, maxUnavailable: 2", true},
		"a method":           {"RollingRecreate", "Recreate", false},
		"a URL":              {"url: u", "url: v", false},
		"a resource":         {"services", "secrets", false},
		"what hooks may use": {"Seconds: 5", "Seconds: 6", false},
	} {
		edited := replaceIn(t, spec, c.old, c.now)
		if same := hashOf(spec) == hashOf(edited); same != c.same {
			t.Errorf("%s: the hash is the same: %v, want %v", name, same, c.same)
		}
	}
}

func replaceIn(t *testing.T, text, old, now string) string {
	t.Helper()
	before, after, found := strings.Cut(text, old)
	if !found {
		t.Fatalf("no %q", old)
	}
	return before + now + after
}

// TestStableSpecOfAnother shows which spec a definition is taken to be served by, also if someone else has written its status.
func TestStableSpecOfAnother(t *testing.T) {
	const spec = `{"generateSelector":true,"hooks":{"sync":{"script":{"inline":"a"}}}}`
	for name, c := range map[string]struct {
		stored, want, err string
	}{
		"none":           {"", spec, ""},
		"the same":       {spec, spec, ""},
		"another script": {strings.Replace(spec, `"a"`, `"b"`, 1), spec, ""},
		"another":        {strings.Replace(spec, "true", "false", 1), strings.Replace(spec, "true", "false", 1), ""},
		"no spec":        {"{", "", "status.scriptRollout.stableSpec: "},
	} {
		t.Run(name, func(t *testing.T) {
			object := definitionOf(t, spec)
			object.SetGeneration(7)
			rollout := map[string]any{"steps": []any{map[string]any{"parents": "10%"}}}
			if err := unstructured.SetNestedMap(object.Object, rollout, "spec", "scriptRollout"); err != nil {
				t.Fatal(err)
			}
			if c.stored != "" {
				stable := map[string]any{"stableRevision": "x", "stableSpec": map[string]any{"generation": int64(3), "spec": c.stored}}
				if err := unstructured.SetNestedMap(object.Object, stable, "status", "scriptRollout"); err != nil {
					t.Fatal(err)
				}
			}
			got, err := AsServed(object)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if steps, _, _ := unstructured.NestedSlice(got.Object, "spec", "scriptRollout", "steps"); len(steps) != 1 {
				t.Errorf("its scriptRollout is %v", steps)
			}
			if text := (&Plan{object: asRequested(got)}).StableSpec().Spec; text != c.want {
				t.Errorf("got %s, want %s", text, c.want)
			}
			if got.GetKind() != v1alpha1.CompositeControllerKind || object.GetGeneration() != 7 {
				t.Errorf("%s, generation %d", got.GetKind(), object.GetGeneration())
			}
		})
	}
}

// TestStableSpecTooLong shows that a spec is kept whole or not at all.
func TestStableSpecTooLong(t *testing.T) {
	plan := &Plan{object: definitionOf(t, `{"hooks":{"sync":{"script":{"inline":"`+strings.Repeat("a", MaxStableSpec)+`"}}}}`)}
	if kept := plan.StableSpec(); kept != nil {
		t.Errorf("%d bytes are kept", len(kept.Spec))
	}
}

func definitionOf(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	text := `{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"a"},"spec":` + spec + `}`
	object := new(unstructured.Unstructured)
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return object
}
