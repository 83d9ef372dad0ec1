package api

import (
	"slices"
	"testing"

	"k8s.io/client-go/discovery"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestDiscovery holds the names that metacontroller's users type against what the API
// server lists (section 0 of the specification).
func TestDiscovery(t *testing.T) {
	c := withDefinitions(t)
	client, err := discovery.NewDiscoveryClientForConfig(c.Config)
	env.NoError(t, err)
	listed, err := client.ServerResourcesForGroupVersion(v1alpha1.GroupVersion.String())
	env.NoError(t, err)
	found := map[string]int{}
	for i, resource := range listed.APIResources {
		found[resource.Name] = i
	}
	for plural, want := range map[string]struct {
		kind       string
		short      []string
		namespaced bool
	}{
		"compositecontrollers": {v1alpha1.CompositeControllerKind, []string{"cc", "cctl"}, false},
		"decoratorcontrollers": {v1alpha1.DecoratorControllerKind, []string{"dec", "decorators"}, false},
		"mapcontrollers":       {v1alpha1.MapControllerKind, []string{"mc", "mctl"}, false},
		"controllerrevisions":  {v1alpha1.ControllerRevisionKind, nil, true},
	} {
		i, ok := found[plural]
		if !ok {
			t.Errorf("%s is not served", plural)
			continue
		}
		got := listed.APIResources[i]
		if got.Kind != want.kind || !slices.Equal(got.ShortNames, want.short) || got.Namespaced != want.namespaced {
			t.Errorf("%s: kind %s, short names %v, namespaced %v; want %+v", plural, got.Kind, got.ShortNames, got.Namespaced, want)
		}
		if _, ok := found[plural+"/status"]; !ok {
			t.Errorf("%s has no status subresource", plural)
		}
	}
}
