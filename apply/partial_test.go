package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestPartial(t *testing.T) {
	observed := stored(t, object(podRule, "a", spec("x", "1")))
	observed.SetResourceVersion("7")
	answer := func(version string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": map[string]any{
				"name": "a", "resourceVersion": version, "managedFields": []any{map[string]any{"manager": "m"}},
			},
		}}
	}
	versionless := observed.DeepCopy()
	versionless.SetResourceVersion("")
	cases := map[string]struct {
		reason   string
		answer   *unstructured.Unstructured
		observed *unstructured.Unstructured
		partial  bool
		spec     any
	}{
		"None":        {reason: "a deletion returns nothing"},
		"Full":        {reason: "an API server may know no partial answers", answer: observed, spec: observed.Object["spec"]},
		"Created":     {reason: "the content is not known", answer: answer("8"), partial: true},
		"Updated":     {reason: "the content of another version is not known", answer: answer("8"), observed: observed, partial: true},
		"Versionless": {reason: "without versions, nothing tells that nothing was written", answer: answer(""), observed: versionless, partial: true},
		"Unchanged":   {reason: "nothing was written", answer: answer("7"), observed: observed, spec: observed.Object["spec"]},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := Result{Change: Change{Key: KeyOf(observed), Observed: tc.observed}, Object: tc.answer}
			o.resolvePartial()
			if o.Partial != tc.partial {
				t.Fatalf("%s: partial %v", tc.reason, o.Partial)
			}
			if o.Object == nil {
				return
			}
			if o.Object.GroupVersionKind() != observed.GroupVersionKind() {
				t.Errorf("%s: the object is a %s", tc.reason, o.Object.GroupVersionKind())
			}
			if diff := cmp.Diff(tc.spec, o.Object.Object["spec"]); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			full := o.WithContent(observed)
			if full.Partial || full.Object.Object["spec"] == nil || full.Object.GetResourceVersion() != o.Object.GetResourceVersion() {
				t.Errorf("%s: with content it is %v", tc.reason, full.Object.Object)
			}
		})
	}
}
