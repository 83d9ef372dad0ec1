package definition

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

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
			if text := (&Plan{object: asRequested(got)}).stableSpec().Spec; text != c.want {
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
	plan := &Plan{object: definitionOf(t, `{"hooks":{"sync":{"script":{"inline":"`+strings.Repeat("a", maxStableSpec)+`"}}}}`)}
	if kept := plan.stableSpec(); kept != nil {
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
