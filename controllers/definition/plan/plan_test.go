package plan

import (
	"strings"
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
		p, resource := &Plan{UID: "a", Generation: 1, object: object(map[string]any{"hooks": "a"})}, things
		if edit != nil {
			edit(p, &resource)
		}
		p.Config.Parents = []variant.ParentRule{{Resource: resource}}
		return p
	}
	base := plan(nil)
	if !base.Equal(plan(nil)) || !base.Equal(plan(func(p *Plan, _ *discovery.Resource) { p.Generation = 2 })) {
		t.Error("equal plans differ")
	}
	for what, edit := range map[string]func(*Plan, *discovery.Resource){
		"UID":                func(p *Plan, _ *discovery.Resource) { p.UID = "b" },
		"spec":               func(p *Plan, _ *discovery.Resource) { p.Generation, p.object = 2, object(map[string]any{"hooks": "b"}) },
		"version":            func(_ *Plan, r *discovery.Resource) { r.Version = "v2" },
		"scope":              func(_ *Plan, r *discovery.Resource) { r.Namespaced = true },
		"status subresource": func(_ *Plan, r *discovery.Resource) { r.HasStatus = true },
		"custom resource":    func(_ *Plan, r *discovery.Resource) { r.Custom = true },
	} {
		if base.Equal(plan(edit)) {
			t.Errorf("plans with another %s are equal", what)
		}
	}
}

// TestChildResourceTwice checks that a resource is listed once, in one version: of two entries it would be unclear which one is meant.
func TestChildResourceTwice(t *testing.T) {
	find := func(apiVersion, resource string) (discovery.Resource, error) {
		gv, err := schema.ParseGroupVersion(apiVersion)
		return discovery.Resource{GroupVersionResource: gv.WithResource(resource), Kind: gv.WithKind(resource)}, err
	}
	rule := func(apiVersion, resource string) any {
		return map[string]any{"apiVersion": apiVersion, "resource": resource}
	}
	kinds := map[string]string{
		"CompositeController": "childResources", "DecoratorController": "attachments", "MapController": "outputResources",
	}
	for kind, field := range kinds {
		for name, c := range map[string]struct {
			rules []any
			want  string
		}{
			"two resources":       {[]any{rule("v1", "pods"), rule("v1", "services"), rule("apps/v1", "pods")}, ""},
			"one, in one version": {[]any{rule("v1", "pods"), rule("v1", "services"), rule("v1", "pods")}, "[2]: pods are listed at spec." + field + "[0] already, in version v1"},
			"one, in two versions": {
				[]any{rule("a/v1", "things"), rule("a/v2", "things")}, "[1]: things.a are listed at spec." + field + "[0] already, in version v1",
			},
		} {
			t.Run(kind+" "+name, func(t *testing.T) {
				hook := map[string]any{"script": map[string]any{"inline": "a", "engine": "CEL"}}
				object := &unstructured.Unstructured{Object: map[string]any{"kind": kind, "spec": map[string]any{
					"generateSelector": true, "parentResource": rule("b/v1", "parents"), "resources": []any{rule("b/v1", "parents")},
					"inputResources": []any{rule("b/v1", "inputs")}, field: c.rules, "hooks": map[string]any{"sync": hook, "map": hook},
				}}}
				_, refusal := Planner{Find: find}.Plan(object)
				switch {
				case c.want == "" && refusal != nil:
					t.Error(refusal.Err)
				case c.want != "" && (refusal == nil || refusal.Reason != ReasonInvalid || !strings.Contains(refusal.Err.Error(), c.want)):
					t.Errorf("refusal %v, want one with %q", refusal, c.want)
				}
			})
		}
	}
}
