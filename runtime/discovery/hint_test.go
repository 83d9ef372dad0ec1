package discovery

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestHint(t *testing.T) {
	var known []Resource
	for kind, plural := range map[string]string{"Pod": "pods", "ConfigMap": "configmaps", "Endpoints": "endpoints"} {
		gv := schema.GroupVersion{Version: "v1"}
		known = append(known, Resource{GroupVersionResource: gv.WithResource(plural), Kind: gv.WithKind(kind)})
	}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	known = append(known, Resource{GroupVersionResource: apps.WithResource("deployments"), Kind: apps.WithKind("Deployment")})
	for name, c := range map[string]struct{ reason, apiVersion, resource, want string }{
		"kind":      {"The kind is given.", "v1", "Pod", "write the lower-case plural, pods"},
		"singular":  {"The singular is given.", "v1", "pod", "write the lower-case plural, pods"},
		"misspelt":  {"A letter is wrong.", "v1", "configmasp", "did you mean configmaps?"},
		"elsewhere": {"The group is missing.", "v1", "deployments", "there is deployments in apps/v1"},
		"by kind":   {"The group is missing, and the kind is given.", "v1", "Deployment", "there is deployments in apps/v1"},
		"unknown":   {"Nothing is near.", "example.com/v1", "boxes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := Hint(c.apiVersion, c.resource, slices.Values(known)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
