package validation

import (
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

const partsCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: kits.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Kit, plural: kits}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              token: {type: string, format: password}
              tags: {type: array, items: {type: string}, x-kubernetes-list-type: set}
              parts: {type: array, items: {type: object, properties: {id: {type: string}}}, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [id]}
`

// TestDocuments checks that schemas of CustomResourceDefinitions tell as much as an API server's documents.
func TestDocuments(t *testing.T) {
	resources, err := Read(parse(t, partsCRD))
	if err != nil {
		t.Fatal(err)
	}
	source := openapi.New(openapi.Config{
		API: Documents(resources), Interval: time.Hour, Timeout: time.Minute, Clock: clock.RealClock{}, Log: logr.Discard(),
	})
	kind := source.For(t.Context(), schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Kit"})
	if kind == nil {
		t.Fatal("there is no schema")
	}
	spec := kind.Root.Field("spec")
	parts := spec.Field("parts")
	switch {
	case parts.Relation != openapi.Map || len(parts.Keys) != 1 || parts.Keys[0] != "id":
		t.Errorf("parts: %+v", parts)
	case spec.Field("tags").Relation != openapi.Set:
		t.Errorf("tags: %+v", spec.Field("tags"))
	case !spec.Field("token").Secret:
		t.Error("token is no secret")
	case !spec.Drops("other"):
		t.Error("unknown fields are kept")
	case kind.Root.Field("metadata").Field("finalizers").Relation != openapi.Set:
		t.Error("finalizers are no set")
	}
	if other := source.For(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "Pod"}); other != nil {
		t.Errorf("a Pod has the schema %+v", other)
	}
}

func TestReadRefuses(t *testing.T) {
	for reason, text := range map[string]string{
		"no schema":        `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kits.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Kit, plural: kits}, versions: [{name: v1, served: true, storage: true}]}}`,
		"another name":     `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kit.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Kit, plural: kits}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
		"no storage":       `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kits.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Kit, plural: kits}, versions: [{name: v1, served: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
		"no type":          `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kits.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Kit, plural: kits}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {properties: {spec: {}}}}}]}}`,
		"an old version":   `{apiVersion: apiextensions.k8s.io/v1beta1, kind: CustomResourceDefinition, metadata: {name: kits.example.com}}`,
		"a wrong default":  `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kits.example.com}, spec: {group: example.com, scope: Namespaced, names: {kind: Kit, plural: kits}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: integer, default: a}}}}}]}}`,
		"an unknown scope": `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: kits.example.com}, spec: {group: example.com, scope: Some, names: {kind: Kit, plural: kits}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}}`,
	} {
		if resources, err := Read(parse(t, text)); err == nil {
			t.Errorf("%s is accepted: %v", reason, resources)
		}
	}
}
