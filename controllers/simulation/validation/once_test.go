package validation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// withRules has rules in properties, lists, maps, and of fields that are absent.
const withRules = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: apps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: App, plural: apps, singular: app, listKind: AppList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        x-kubernetes-validations: [{rule: "!has(self.spec.list) || has(self.spec.object)", message: list needs object}]
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "has(self.object) || !has(self.number)", message: number needs object}]
            properties:
              number: {type: integer, x-kubernetes-validations: [{rule: "self > 3", message: number is small}]}
              object: {type: object, properties: {a: {type: integer, x-kubernetes-validations: [{rule: "self > 3", message: a is small}]}}}
              list: {type: array, maxItems: 9, items: {type: object, properties: {b: {type: integer, x-kubernetes-validations: [{rule: "self > 3", message: b is small}]}}}}
              map: {type: object, maxProperties: 9, additionalProperties: {type: object, properties: {c: {type: integer, x-kubernetes-validations: [{rule: "self > 3", message: c is small}]}}}}
`

// TestValidateOnce checks that rules are left out only where there is nothing that they could refuse.
func TestValidateOnce(t *testing.T) {
	resources, err := Read(parse(t, withRules))
	if err != nil {
		t.Fatal(err)
	}
	custom := resources[0].Schema.(*Custom)
	for reason, c := range map[string]struct{ spec, want string }{
		"nothing is there":               {`{}`, ""},
		"the rule of a property":         {`{number: 1, object: {}}`, "number is small"},
		"a rule about what is absent":    {`{number: 5}`, "number needs object"},
		"the rule of the whole object":   {`{list: []}`, "list needs object"},
		"a property of a property":       {`{object: {a: 1}}`, "a is small"},
		"only the last item is refused":  {`{object: {}, list: [{}, {b: 5}, {b: 1}]}`, "b is small"},
		"one of the values of a map":     {`{map: {x: {}, y: {c: 5}, z: {c: 1}}}`, "c is small"},
		"all is there, and all is right": {`{number: 5, object: {a: 5}, list: [{b: 5}], map: {x: {c: 5}}}`, ""},
		"a wrong type":                   {`{number: x}`, "must be of type integer"},
	} {
		t.Run(reason, func(t *testing.T) {
			object := parse(t, `{apiVersion: example.com/v1, kind: App, metadata: {name: a, namespace: default}, spec: `+c.spec+`}`)
			got, want := custom.ValidateOnce(object)[0].ToAggregate(), custom.Validate(object, nil).ToAggregate()
			if diff := cmp.Diff(errorText(want), errorText(got)); diff != "" {
				t.Errorf("-Validate +ValidateOnce:\n%s", diff)
			}
			if text := errorText(got); (c.want == "") != (text == "") || !strings.Contains(text, c.want) {
				t.Errorf("%q, want %q", text, c.want)
			}
		})
	}
}

// TestValidateSeveral checks that each of several objects is validated by the rules of its own fields.
func TestValidateSeveral(t *testing.T) {
	resources, err := Read(parse(t, withRules))
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, spec := range []string{`{number: 5, object: {}}`, `{object: {a: 1}}`, `{}`, `{number: 1, object: {}}`} {
		objects = append(objects, parse(t, `{apiVersion: example.com/v1, kind: App, metadata: {name: a, namespace: default}, spec: `+spec+`}`))
	}
	custom := resources[0].Schema.(*Custom)
	for _, when := range []string{"before", "after"} {
		var got []string
		for _, invalid := range custom.ValidateOnce(objects...) {
			got = append(got, errorText(invalid.ToAggregate()))
		}
		want := []string{"", `spec.object.a: Invalid value: 1: a is small`, "", `spec.number: Invalid value: 1: number is small`}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s all rules are compiled: -want +got:\n%s", when, diff)
		}
		custom.Validate(objects[0], nil)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// BenchmarkDefinition validates a definition, as a command does that validates one.
func BenchmarkDefinition(b *testing.B) {
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "metacontroller.k8s.io/v1alpha1", "kind": "CompositeController", "metadata": map[string]any{"name": "c"},
		"spec": map[string]any{
			"parentResource": map[string]any{"apiVersion": "v1", "resource": "configmaps"}, "generateSelector": true,
			"hooks": map[string]any{"sync": map[string]any{"script": map[string]any{"inline": "x", "engine": "JavaScript"}}},
		},
	}}
	for b.Loop() {
		if stored := Definitions(object)[0]; stored.Err != nil || len(stored.Invalid) > 0 {
			b.Fatal(stored.Invalid, stored.Err)
		}
	}
}
