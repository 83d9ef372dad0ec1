package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

func TestFinalizerOf(t *testing.T) {
	hook := map[string]any{"webhook": map[string]any{"url": "http://hooks"}}
	things := map[string]any{"apiVersion": "example.com/v1", "resource": "things"}
	thingRule := v1alpha1.ResourceRule{APIVersion: "example.com/v1", Resource: "things"}
	cases := map[string]struct {
		reason, kind string
		spec         map[string]any
		finalizer    string
		rules        []v1alpha1.ResourceRule
	}{
		"Composite": {
			"Its parents may have its finalizer.", v1alpha1.CompositeControllerKind,
			map[string]any{"parentResource": things, "hooks": map[string]any{"finalize": hook}},
			"metacontroller.io/compositecontroller-d", []v1alpha1.ResourceRule{thingRule},
		},
		"Decorator": {
			"All of its targets may.", v1alpha1.DecoratorControllerKind,
			map[string]any{"resources": []any{things, map[string]any{"apiVersion": "v1", "resource": "pods"}}, "hooks": map[string]any{"finalize": hook}},
			"metacontroller.io/decoratorcontroller-d", []v1alpha1.ResourceRule{thingRule, {APIVersion: "v1", Resource: "pods"}},
		},
		"Map": {
			"Its parents may, and not its inputs.", v1alpha1.MapControllerKind,
			map[string]any{"parentResource": things, "inputResources": []any{map[string]any{"apiVersion": "v1", "resource": "pods"}}, "hooks": map[string]any{"finalize": hook}},
			"metacontroller.io/mapcontroller-d", []v1alpha1.ResourceRule{thingRule},
		},
		"WithoutHook": {
			"Without the hook there is nothing to look for.", v1alpha1.CompositeControllerKind,
			map[string]any{"parentResource": things, "hooks": map[string]any{"sync": hook}}, "", nil,
		},
		"Unreadable": {
			"A definition that can't be decoded has never run.", v1alpha1.CompositeControllerKind,
			map[string]any{"parentResource": "things", "hooks": map[string]any{"finalize": hook}}, "", nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{"kind": tc.kind, "metadata": map[string]any{"name": "d"}, "spec": tc.spec}}
			finalizer, rules := FinalizerOf(object)
			if finalizer != tc.finalizer {
				t.Errorf("%s\nfinalizer %q, want %q", tc.reason, finalizer, tc.finalizer)
			}
			if diff := cmp.Diff(tc.rules, rules); diff != "" {
				t.Errorf("%s\n(-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
