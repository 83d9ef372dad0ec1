package crd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/cel"

	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// reader reads one short schema.
type reader struct {
	file string
	// lines are those of the fields, by their paths.
	lines map[string]int
	// first is the first line of the schema.
	first int
	errs  []error
	// given is what the schema has, by its keys.
	given map[string]entry
	// types are those that the schema has of its own. known are those that were read: nil while one is.
	types map[string]entry
	known map[string]*property
}

// failf adds an error about a field, with the line of it, or of what it is in.
func (r *reader) failf(path, format string, args ...any) {
	line, in := 0, path
	for ; line == 0 && in != ""; in = in[:max(0, strings.LastIndexByte(in, '.'))] {
		line = r.lines[in]
	}
	r.errs = append(r.errs, fmt.Errorf("%s:%d: %s: %w", r.file, max(line, r.first), path, fmt.Errorf(format, args...)))
}

// entry is a field of a mapping.
type entry struct {
	name, path string
	value      *yaml.Node
}

// entries returns the fields of a mapping, in their order.
func (r *reader) entries(node *yaml.Node, path string) []entry {
	if node == nil {
		return nil
	}
	if node.Kind == yaml.AliasNode {
		r.failf(path, "is an alias of YAML: give what it stands for a name under types, and use that")
		return nil
	}
	if node.Kind != yaml.MappingNode {
		r.failf(cmp.Or(path, "the schema"), "must be a mapping, such as {name: string}")
		return nil
	}
	var all []entry
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		e := entry{name: key.Value, path: strings.TrimPrefix(path+"."+key.Value, "."), value: value}
		if _, twice := r.lines[e.path]; twice && slices.ContainsFunc(all, func(o entry) bool { return o.name == e.name }) {
			r.failf(e.path, "is there twice: leave one out")
			continue
		}
		r.lines[e.path] = key.Line
		all = append(all, e)
	}
	return all
}

// mapping returns the fields of a mapping by their names, which are among known, unless that is nil.
func (r *reader) mapping(node *yaml.Node, path string, known []string) map[string]entry {
	all := map[string]entry{}
	for _, e := range r.entries(node, path) {
		if known != nil && !slices.Contains(known, e.name) {
			r.failf(e.path, "there is no such key: %s", cmp.Or(spelling.Meant(e.name, known), "there are "+strings.Join(known, ", ")))
		}
		all[e.name] = e
	}
	return all
}

// property reads a field: a mapping is an object, and a text a type with its markers.
func (r *reader) property(node *yaml.Node, path string) *property {
	switch {
	case node.Kind == yaml.MappingNode || node.Kind == yaml.AliasNode:
		return r.object(node, path)
	case node.Kind == yaml.SequenceNode:
		r.failf(path, `is a list in YAML: the type of a list is "[]string", in quotes`)
	case node.Kind != yaml.ScalarNode || node.Tag != "!!str":
		r.failf(path, "must be a type with its markers, such as string | required=true, or a mapping of fields")
	default:
		kind, assignments, err := split(node.Value)
		if err != nil {
			r.failf(path, "%w", err)
			return &property{}
		}
		f, err := r.typed(kind)
		if err != nil {
			r.failf(path, "%w", err)
			return &property{}
		}
		for _, a := range assignments {
			if err := f.apply(a.name, a.value); err != nil {
				r.failf(path, "%w", err)
			}
		}
		if err := cmp.Or(f.checkList(), f.checkBounds()); err != nil {
			r.failf(path, "%w", err)
		}
		if f.immutable {
			f.schema.XValidations = append(f.schema.XValidations, apiextensionsv1.ValidationRule{Rule: "self == oldSelf", Message: "is immutable"})
		}
		return f
	}
	return &property{}
}

// object reads the fields of an object.
func (r *reader) object(node *yaml.Node, path string) *property {
	f := &property{schema: apiextensionsv1.JSONSchemaProps{Type: "object"}}
	s := &f.schema
	defaults, needsValue := map[string]*apiextensionsv1.JSON{}, false
	for _, e := range r.entries(node, path) {
		child := r.property(e.value, e.path)
		if s.Properties == nil {
			s.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		s.Properties[e.name] = child.schema
		hasDefault := child.schema.Default != nil
		if child.required {
			s.Required = append(s.Required, e.name)
		}
		if hasDefault {
			defaults[e.name] = child.schema.Default
		}
		needsValue = needsValue || child.required && !hasDefault
		if escaped, ok := cel.Escape(e.name); ok && child.immutable && !child.required && !hasDefault {
			s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{
				Rule:    fmt.Sprintf("has(self.%[1]s) == has(oldSelf.%[1]s)", escaped),
				Message: e.name + " is immutable: it can be set at the creation only, and not removed",
			})
		}
	}
	if s.Properties["type"].Type == "object" && len(s.Properties["properties"].Properties) > 0 {
		r.failf(path, "is a schema of OpenAPI, with type and properties: write the fields themselves, such as image: string")
	}
	slices.Sort(s.Required)
	// Defaults of fields are for objects that are there. Rules of the object are checked with its default as it is written.
	if len(defaults) > 0 && !needsValue {
		raw, err := json.Marshal(defaults)
		if err != nil {
			r.failf(path, "%w", err)
		}
		s.Default = &apiextensionsv1.JSON{Raw: raw}
	}
	return f
}

// intOrString is the type of ports and percentages.
const intOrString = "intOrString"

// basic are the types that are no lists, maps or objects with known fields.
var basic = map[string]apiextensionsv1.JSONSchemaProps{
	"string":    {Type: "string"},
	"integer":   {Type: "integer"},
	"boolean":   {Type: "boolean"},
	"number":    {Type: "number"},
	"float":     {Type: "number"},
	"object":    {Type: "object", XPreserveUnknownFields: new(true)},
	intOrString: {XIntOrString: true},
}

// typed returns a field of a type.
func (r *reader) typed(kind string) (*property, error) {
	if of, isList := strings.CutPrefix(kind, "[]"); isList {
		items, err := r.typed(strings.TrimSpace(of))
		if err != nil {
			return nil, err
		}
		items.schema.Default = nil // Of items there is nothing to fill in.
		return &property{schema: apiextensionsv1.JSONSchemaProps{
			Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &items.schema},
		}}, nil
	}
	if of, isMap := strings.CutPrefix(kind, "map["); isMap {
		key, of, _ := strings.Cut(of, "]")
		if key != "string" {
			return nil, fmt.Errorf("type %s: the keys of a map are strings: map[string]%s", kind, of)
		}
		values, err := r.typed(strings.TrimSpace(of))
		if err != nil {
			return nil, err
		}
		values.schema.Default = nil
		return &property{schema: apiextensionsv1.JSONSchemaProps{
			Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: &values.schema},
		}}, nil
	}
	if schema, is := basic[kind]; is {
		return &property{schema: *schema.DeepCopy()}, nil
	}
	return r.custom(kind)
}

// custom returns a field of a type that the schema has of its own.
func (r *reader) custom(name string) (*property, error) {
	f, began := r.known[name]
	if began && f == nil {
		return nil, fmt.Errorf("type %s has itself among its fields: give one of them the type object", name)
	}
	if !began {
		e, is := r.types[name]
		if !is {
			known := slices.Concat(slices.Collect(maps.Keys(basic)), slices.Collect(maps.Keys(r.types)))
			return nil, fmt.Errorf("there is no type %q: %s", name, typeHint(name, known))
		}
		r.known[name] = nil
		f = r.property(e.value, e.path)
		r.known[name] = f
		if f.required || f.immutable {
			r.failf(e.path, "required and immutable are for the fields of the type: say it there")
		}
	}
	return &property{schema: *f.schema.DeepCopy()}, nil
}

func typeHint(name string, known []string) string {
	if meant := spelling.Meant(name, known); meant != "" {
		return meant
	}
	return spelling.List(known) + `, "[]string", "map[string]string", and those under types`
}

// standardStatus adds what every status has: conditions, and the generation that they are about. Hooks have no clock: the time of a
// condition is there if the host or the hook has set it.
func standardStatus(status *apiextensionsv1.JSONSchemaProps) error {
	for name, text := range standardFields {
		if _, is := status.Properties[name]; is {
			return errors.New(name + " is in every status: leave it out")
		}
		var schema apiextensionsv1.JSONSchemaProps
		if err := json.Unmarshal([]byte(text), &schema); err != nil {
			return err
		}
		if status.Properties == nil {
			status.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		status.Properties[name] = schema
	}
	return nil
}

// standardFields are those of every status. A condition is as metav1.Condition.
var standardFields = map[string]string{
	"observedGeneration": `{
  "type": "integer", "format": "int64", "minimum": 0, "description": "The generation of the spec that the status is about."
}`,
	"conditions": `{
  "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
  "items": {
    "type": "object", "required": ["message", "reason", "status", "type"],
    "properties": {
      "type": {"type": "string", "maxLength": 316},
      "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
      "reason": {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
      "message": {"type": "string", "maxLength": 32768},
      "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
      "lastTransitionTime": {"type": "string", "format": "date-time"}
    }
  }
}`,
}
