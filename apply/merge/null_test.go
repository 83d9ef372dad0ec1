package merge

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// TestNullableField checks that null is a value where the schema allows it, and means that a field is absent everywhere else.
func TestNullableField(t *testing.T) {
	text := &openapi.Node{Type: openapi.String}
	kind := &openapi.Kind{Root: &openapi.Node{Type: openapi.Object, Fields: map[string]*openapi.Node{"spec": {
		Type: openapi.Object, Fields: map[string]*openapi.Node{"mode": {Type: openapi.String, Nullable: true}, "text": text},
	}}}}
	type spec = map[string]any
	cases := map[string]struct {
		reason                  string
		observed, last, desired spec
		want                    spec
		differs                 bool
	}{
		"Default":   {"The API server's default is replaced.", spec{"mode": "x"}, nil, spec{"mode": nil}, spec{"mode": nil}, true},
		"Value":     {"So is what was asked for before.", spec{"mode": "a"}, spec{"mode": "a"}, spec{"mode": nil}, spec{"mode": nil}, true},
		"Null":      {"It is null already.", spec{"mode": nil}, spec{"mode": nil}, spec{"mode": nil}, spec{"mode": nil}, false},
		"Absent":    {"Nothing is there, so there is no default.", spec{}, nil, spec{"mode": nil}, spec{}, false},
		"Back":      {"A value takes the place of null.", spec{"mode": nil}, spec{"mode": nil}, spec{"mode": "a"}, spec{"mode": "a"}, true},
		"Forbidden": {"Elsewhere null removes what was asked for.", spec{"text": "a"}, spec{"text": "a"}, spec{"text": nil}, spec{}, true},
		"Others":    {"And leaves what others set.", spec{"text": "a"}, nil, spec{"text": nil}, spec{"text": "a"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			observed, err := WithAnnotation(map[string]any{"spec": tc.observed}, map[string]any{"spec": tc.last})
			if err != nil {
				t.Fatal(err)
			}
			desired := &unstructured.Unstructured{Object: map[string]any{"spec": tc.desired}}
			got, err := Merge(kind, &unstructured.Unstructured{Object: observed}, desired)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got.Object.Object["spec"]); diff != "" || got.Differs != tc.differs {
				t.Errorf("%s It differs: %v, want %v (-want, +got):\n%s", tc.reason, got.Differs, tc.differs, diff)
			}
		})
	}
}
