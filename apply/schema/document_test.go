package schema

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// parseSpec returns the schema of spec in a kind whose other definitions are in more.
func parseSpec(t *testing.T, spec string, more ...string) *Node {
	t.Helper()
	text := `{"components": {"schemas": {` + strings.Join(append(more, `"x.Thing": {"type": "object",
		"properties": {"metadata": {"type": "object"}, "spec": `+spec+`}, "x-kubernetes-group-version-kind": [{"group": "g", "version": "v1", "kind": "Thing"}]}`), ", ") + `}}}`
	kinds, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	kind := kinds[schema.GroupVersionKind{Group: "g", Version: "v1", Kind: "Thing"}]
	if kind == nil {
		t.Fatalf("no kind in\n%s", text)
	}
	return kind.Root.Field("spec")
}

func TestRelations(t *testing.T) {
	cases := map[string]struct {
		reason, list string
		want         Relation
		keys         []string
	}{
		"Untold":   {reason: "nothing is declared", list: `"items": {}`, want: Unknown},
		"Atomic":   {reason: "one value", list: `"x-kubernetes-list-type": "atomic"`, want: Atomic},
		"Set":      {reason: "a set", list: `"x-kubernetes-list-type": "set"`, want: Set},
		"Map":      {reason: "two keys", list: `"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]`, want: Map, keys: []string{"a", "b"}},
		"Keyless":  {reason: "a map without keys is no map", list: `"x-kubernetes-list-type": "map"`, want: Unknown},
		"MergeKey": {reason: "older kinds tell by the merge patch", list: `"x-kubernetes-patch-strategy": "merge,retainKeys", "x-kubernetes-patch-merge-key": "a"`, want: Map, keys: []string{"a"}},
		"MergeSet": {reason: "merged without a key it is a set", list: `"x-kubernetes-patch-strategy": "merge"`, want: Set},
		"Both": {
			reason: "list types are stronger than the merge patch", want: Map, keys: []string{"a", "b"},
			list: `"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"], "x-kubernetes-patch-strategy": "merge", "x-kubernetes-patch-merge-key": "a"`,
		},
		"Replace": {reason: "another strategy says nothing", list: `"x-kubernetes-patch-strategy": "replace"`, want: Unknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			node := parseSpec(t, `{"type": "array", `+tc.list+`}`)
			if node.Type != List || node.Relation != tc.want {
				t.Errorf("%s: relation %v, want %v", tc.reason, node.Relation, tc.want)
			}
			if diff := cmp.Diff(tc.keys, node.Keys); diff != "" {
				t.Errorf("%s: keys (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDrops(t *testing.T) {
	const properties = `"properties": {"a": {"type": "string"}}`
	cases := map[string]struct {
		reason, spec, field string
		want                bool
	}{
		"Unknown":    {reason: "what is not among the properties is dropped", spec: `{"type": "object", ` + properties + `}`, field: "b", want: true},
		"Known":      {reason: "a property is kept", spec: `{"type": "object", ` + properties + `}`, field: "a"},
		"Empty":      {reason: "an object of which nothing is declared may keep all", spec: `{"type": "object"}`, field: "b"},
		"Preserved":  {reason: "the schema says that all is kept", spec: `{"type": "object", "x-kubernetes-preserve-unknown-fields": true, ` + properties + `}`, field: "b"},
		"Map":        {reason: "a map has any names", spec: `{"type": "object", "additionalProperties": {"type": "string"}}`, field: "b"},
		"Additional": {reason: "a struct may have more", spec: `{"type": "object", "additionalProperties": true, ` + properties + `}`, field: "b"},
		"Embedded":   {reason: "an object within another has more than is declared", spec: `{"type": "object", "x-kubernetes-embedded-resource": true, ` + properties + `}`, field: "b"},
		"Any":        {reason: "anything goes", spec: `{}`, field: "b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := parseSpec(t, tc.spec).Drops(tc.field); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
	if (*Node)(nil).Drops("x") {
		t.Error("where nothing is known, nothing is dropped")
	}
}

func TestDefinitionsWithMore(t *testing.T) {
	named := `"n.Named": {"type": "object", "properties": {"again": {"$ref": "#/components/schemas/n.Named"}, "port": {"type": "integer", "default": 80}, "size": {"type": "number", "default": 0.5}, "none": {"default": {}}}}`
	spec := parseSpec(t, `{"type": "object", "properties": {
		"plain": {"$ref": "#/components/schemas/n.Named"},
		"whole": {"allOf": [{"$ref": "#/components/schemas/n.Named"}], "default": {}, "x-kubernetes-map-type": "atomic"},
		"held": {"allOf": [{"$ref": "#/components/schemas/n.Named"}], "x-kubernetes-patch-strategy": "retainKeys"},
		"gone": {"$ref": "#/components/schemas/n.Gone"}}}`, named)
	plain, whole, held := spec.Field("plain"), spec.Field("whole"), spec.Field("held")
	if plain.Field("again") != plain {
		t.Error("a definition that has itself in it is one node")
	}
	if plain.Atomic || !whole.Atomic || whole.Field("again") != plain {
		t.Error("a definition that is one value in one place is not in another")
	}
	if plain.Retains || !held.Retains {
		t.Error("a definition that retains what is asked for in one place does not in another")
	}
	if diff := cmp.Diff(map[string]any{"port": int64(80), "size": 0.5}, whole.Defaults); diff != "" {
		t.Errorf("defaults (-want, +got):\n%s", diff)
	}
	if gone := spec.Field("gone"); gone == nil || gone.Type != Any {
		t.Error("a definition that is missing may be anything")
	}
}

func TestForms(t *testing.T) {
	spec := parseSpec(t, `{"type": "object", "properties": {
		"quantity": {"$ref": "#/components/schemas/`+quantityName+`"}, "declared": {"type": "string", "format": "quantity"},
		"time": {"type": "string", "format": "date-time"}, "bytes": {"type": "string", "format": "byte"}, "text": {"type": "string"},
		"port": {"$ref": "#/components/schemas/`+intOrStringName+`"}, "amount": {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": true}}}`,
		`"`+quantityName+`": {"oneOf": [{"type": "string"}, {"type": "number"}]}`, `"`+intOrStringName+`": {"format": "int-or-string"}`)
	for name, want := range map[string]Form{"quantity": Quantity, "declared": Quantity, "time": Time, "bytes": Bytes, "text": AsGiven} {
		if got := spec.Field(name).Form; got != want {
			t.Errorf("%s: form %v, want %v", name, got, want)
		}
	}
	for _, name := range []string{"port", "amount"} {
		if node := spec.Field(name); !node.IntOrString || node.Type != Any {
			t.Errorf("%s is a number or a text, not %+v", name, node)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	cases := map[string]struct{ reason, text, want string }{
		"NoJSON": {reason: "no document", text: "<html>", want: "OpenAPI document: invalid character"},
		"Odd": {
			reason: "the definition is named", want: "OpenAPI document: x.Thing: json: cannot unmarshal",
			text: `{"components": {"schemas": {"x.Thing": {"type": 7, "properties": {"metadata": {}}, "x-kubernetes-group-version-kind": [{"kind": "Thing"}]}}}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.text)); err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}
