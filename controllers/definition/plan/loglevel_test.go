package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// annotated returns a definition with annotations.
func annotated(annotations map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": v1alpha1.CompositeControllerKind, "metadata": map[string]any{"name": "boxes", "annotations": annotations},
		"status": map[string]any{"parents": int64(1)},
	}}
}

func TestLogLevel(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		value  any
		want   int
		warns  string
	}{
		"none":     {"A definition without the annotation.", nil, 0, ""},
		"lowest":   {"Nothing more than what the process logs.", "0", 0, ""},
		"between":  {"A level that no message has of its own.", "3", 3, ""},
		"highest":  {"The highest level.", "4", 4, ""},
		"too high": {"What is above is bounded.", "9", 4, `"9" is no level, and it is taken for 4: write 1 to`},
		"negative": {"A definition can't be silenced.", "-1", 0, `"-1" is no level, and it is logged as if there were none`},
		"a word":   {"The value is no number.", "debug", 0, `"debug" is no level, and it is logged as if there were none`},
		"empty":    {"The value is missing.", "", 0, `"" is no level`},
		"overflow": {"The number is too large to be one.", "99999999999999999999", 0, `is no level, and it is logged as if`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			annotations := map[string]any{"a": "b"}
			if c.value != nil {
				annotations[v1alpha1.LogLevelAnnotation] = c.value
			}
			got, warnings := LogLevel(annotated(annotations))
			if got != c.want {
				t.Errorf("level %d, want %d", got, c.want)
			}
			if text := Messages(warnings); (text == "") != (c.warns == "") || !strings.Contains(text, c.warns) {
				t.Errorf("warning %q, want one with %q", text, c.warns)
			}
		})
	}
}

// TestLogLevelIsNoInput checks that hooks are not shown the annotation, and that setting it changes no plan.
func TestLogLevelIsNoInput(t *testing.T) {
	level := map[string]any{v1alpha1.LogLevelAnnotation: "4"}
	both := map[string]any{v1alpha1.LogLevelAnnotation: "4", "a": "b"}
	for name, c := range map[string]struct{ annotations, want map[string]any }{
		"alone":   {level, nil},
		"one":     {both, map[string]any{"a": "b"}},
		"request": {map[string]any{v1alpha1.RolloutRequestAnnotation: "abort", v1alpha1.ApprovedRevisionAnnotation: "a"}, nil},
		"without": {map[string]any{"a": "b"}, map[string]any{"a": "b"}},
	} {
		given := annotated(c.annotations)
		before := given.DeepCopy()
		metadata := map[string]any{"name": "boxes"}
		if c.want != nil {
			metadata["annotations"] = c.want
		}
		want := map[string]any{"kind": v1alpha1.CompositeControllerKind, "metadata": metadata, "status": map[string]any{}}
		if diff := cmp.Diff(want, asRequested(given).Object); diff != "" {
			t.Errorf("%s: in requests (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(before, given); diff != "" {
			t.Errorf("%s: the object of the cache has changed (-want +got):\n%s", name, diff)
		}
	}
}

// TestScriptRolloutIsNoInput checks that hooks are not shown how their edits are rolled out, and that a change of it changes no plan.
func TestScriptRolloutIsNoInput(t *testing.T) {
	given := annotated(nil)
	given.Object["spec"] = map[string]any{"hooks": "a", "scriptRollout": map[string]any{"paused": true}}
	before := given.DeepCopy()
	if diff := cmp.Diff(any(map[string]any{"hooks": "a"}), asRequested(given).Object["spec"]); diff != "" {
		t.Errorf("in requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, given); diff != "" {
		t.Errorf("the object of the cache has changed (-want +got):\n%s", diff)
	}
}
