package schema

import (
	"cmp"
	"encoding/json"
	"os"
	"reflect"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/kube-openapi/pkg/schemaconv"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// TestAsTheAPIServer compares the types of built-in and of custom kinds with those that
// the API server itself makes of the same document.
func TestAsTheAPIServer(t *testing.T) {
	text, err := os.ReadFile("../merge/testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	ours, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var openAPI struct {
		Components struct{ Schemas map[string]*spec.Schema }
	}
	if err := json.Unmarshal(text, &openAPI); err != nil {
		t.Fatal(err)
	}
	theirs, err := schemaconv.ToSchemaFromOpenAPI(openAPI.Components.Schemas, false)
	if err != nil {
		t.Fatal(err)
	}
	want := atoms(theirs.Types)
	got := atoms(newParser(ours.named).Schema.Types)
	if len(got) < 200 {
		t.Errorf("only %d types, so that hardly anything is compared", len(got))
	}
	for name := range got {
		if diff := gocmp.Diff(want[name], got[name]); diff != "" {
			t.Errorf("%s (-the API server's, +ours):\n%s", name, diff)
		}
	}
}

// atoms writes types down such that they can be compared.
func atoms(types []schema.TypeDef) map[string]any {
	out := map[string]any{}
	for _, def := range types {
		out[def.Name] = atom(def.Atom)
	}
	return out
}

func atom(a schema.Atom) map[string]any {
	out := map[string]any{}
	if a.Scalar != nil {
		out["scalar"] = *a.Scalar
	}
	if a.List != nil {
		out["list"] = []any{a.List.ElementRelationship, a.List.Keys, typeRef(a.List.ElementType)}
	}
	if a.Map != nil {
		fields := map[string]any{}
		for _, field := range a.Map.Fields {
			fields[field.Name] = []any{typeRef(field.Type), scalarDefault(field.Default)}
		}
		// Separable is what is meant where nothing is said.
		out["map"] = []any{cmp.Or(a.Map.ElementRelationship, schema.Separable), fields, typeRef(a.Map.ElementType)}
	}
	return out
}

func typeRef(r schema.TypeRef) any {
	switch {
	case r.NamedType != nil && r.ElementRelationship != nil:
		return []any{*r.NamedType, *r.ElementRelationship}
	case r.NamedType != nil:
		return *r.NamedType
	default:
		return atom(r.Inlined)
	}
}

// scalarDefault leaves out what can be no key of a list.
func scalarDefault(value any) any {
	switch v := value.(type) {
	case map[string]any, []any:
		return nil
	case int64:
		return float64(v)
	}
	if value != nil && reflect.TypeOf(value).Kind() == reflect.Map {
		return nil
	}
	return value
}
