package definition

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// TestPlanEqual checks that a change of anything that discovery returns makes another plan, and
// with it a new instance.
func TestPlanEqual(t *testing.T) {
	things := discovery.Resource{
		GroupVersionResource: schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "things"},
		Kind:                 schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"},
	}
	object := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	}
	plan := func(edit func(*Plan, *discovery.Resource)) *Plan {
		p, resource := &Plan{uid: "a", generation: 1, object: object(map[string]any{"hooks": "a"})}, things
		if edit != nil {
			edit(p, &resource)
		}
		p.Config.Parents = []variant.ParentRule{{Resource: resource}}
		return p
	}
	base := plan(nil)
	if !base.equal(plan(nil)) || !base.equal(plan(func(p *Plan, _ *discovery.Resource) { p.generation = 2 })) {
		t.Error("equal plans differ")
	}
	for what, edit := range map[string]func(*Plan, *discovery.Resource){
		"UID":                func(p *Plan, _ *discovery.Resource) { p.uid = "b" },
		"spec":               func(p *Plan, _ *discovery.Resource) { p.generation, p.object = 2, object(map[string]any{"hooks": "b"}) },
		"version":            func(_ *Plan, r *discovery.Resource) { r.Version = "v2" },
		"scope":              func(_ *Plan, r *discovery.Resource) { r.Namespaced = true },
		"status subresource": func(_ *Plan, r *discovery.Resource) { r.HasStatus = true },
		"custom resource":    func(_ *Plan, r *discovery.Resource) { r.Custom = true },
	} {
		if base.equal(plan(edit)) {
			t.Errorf("plans with another %s are equal", what)
		}
	}
}
