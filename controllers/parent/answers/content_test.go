package answers

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/engines"
)

// TestContentForCustomize checks when a customize hook is called again for a new version of a parent.
func TestContentForCustomize(t *testing.T) {
	for name, tc := range map[string]struct {
		read engines.ReadSet
		path []string
		want bool
	}{
		"Spec":           {engines.ReadSet{"parent.spec"}, []string{"spec"}, true},
		"Labels":         {engines.ReadSet{"parent.spec"}, []string{"metadata", "labels"}, false},
		"LabelsRead":     {engines.ReadSet{"parent.metadata.labels"}, []string{"metadata", "labels"}, true},
		"LabelsUnknown":  {nil, []string{"metadata", "labels"}, true},
		"StatusRead":     {engines.ReadSet{"parent.status"}, []string{"status"}, false}, // As in metacontroller.
		"GenerationRead": {engines.ReadSet{"parent"}, []string{"metadata", "generation"}, false},
	} {
		after, read := parenttest.FullParent(), InputsIn(tc.read)&CustomizeInputs
		after.SetResourceVersion("2")
		_ = unstructured.SetNestedField(after.Object, "changed", tc.path...)
		if differs := HashContent(parenttest.FullParent(), read) != HashContent(after, read); differs != tc.want {
			t.Errorf("%s: the hook is called again: %v", name, differs)
		}
	}
}
