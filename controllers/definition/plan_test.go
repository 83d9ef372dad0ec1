package definition

import (
	"testing"

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
	plan := func(edit func(*Plan, *discovery.Resource)) *Plan {
		p, resource := &Plan{uid: "a", generation: 1}, things
		if edit != nil {
			edit(p, &resource)
		}
		p.Config.Parents = []variant.ParentRule{{Resource: resource}}
		return p
	}
	base := plan(nil)
	if !base.equal(plan(nil)) {
		t.Error("equal plans differ")
	}
	for what, edit := range map[string]func(*Plan, *discovery.Resource){
		"UID":                func(p *Plan, _ *discovery.Resource) { p.uid = "b" },
		"generation":         func(p *Plan, _ *discovery.Resource) { p.generation = 2 },
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
