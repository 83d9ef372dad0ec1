package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"slices"
)

// object is an object of JSON.
type object = map[string]any

// variable is the pattern of a string that each replaces by a value of any type.
const variable = `^\$\{[^{}]*\}$`

// schemas writes schemas. Nothing is referred to, because the format has no recursion, and because readers of schemas differ in that.
type schemas struct {
	*reader
	special map[string]func() (object, error)
}

// jsonSchema returns the schema of draft 7, which the YAML language server reads.
func jsonSchema(r *reader) (string, error) {
	s := &schemas{reader: r}
	s.special = map[string]func() (object, error){
		"metav1.Time":         func() (object, error) { return object{"type": "string", "format": "date-time"}, nil },
		"metav1.Duration":     s.duration,
		"metav1.StatusReason": func() (object, error) { return object{"type": "string"}, nil },
		"metav1.DeletionPropagation": func() (object, error) {
			return object{"type": "string", "enum": []any{"Background", "Foreground", "Orphan"}}, nil
		},
		"Given":      func() (object, error) { return object{"type": []any{"string", "object"}}, nil },
		"Selection":  s.selection,
		"Waiting":    s.waiting,
		"ObjectName": s.objectName,
		"Deletion":   s.deletion,
	}
	root, err := s.structure(rootType)
	if err != nil {
		return "", err
	}
	for _, header := range []struct{ key, constant string }{{"apiVersion", "APIVersion"}, {"kind", "Kind"}} {
		text, ok := r.constants[header.constant]
		if !ok {
			return "", fmt.Errorf("there is no constant %s", header.constant)
		}
		root["properties"].(object)[header.key] = object{"type": "string", "enum": []any{text}}
		root["required"] = append(root["required"].([]any), header.key)
	}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = rootType
	text, err := json.MarshalIndent(root, "", " ")
	return string(text) + "\n", err
}

// structure returns the schema of a struct, with the fields of those that are inline.
func (s *schemas) structure(name string) (object, error) {
	properties, required := object{}, []any{}
	if err := s.add(name, properties, &required); err != nil {
		return nil, err
	}
	schema := object{"type": "object", "additionalProperties": false, "properties": properties}
	if doc := prose(s.docs[name]); doc != "" {
		schema["description"] = doc
	}
	if len(required) > 0 || name == rootType {
		schema["required"] = required
	}
	return schema, s.restrict(name, schema)
}

// restrict adds which fields of a struct go together, as the parser has it. Only words of draft 4 are used, which all readers know.
func (s *schemas) restrict(name string, schema object) error {
	switch name {
	case rootType:
		schema["not"] = object{"required": []any{"definition", "definitions"}}
	case "Case":
		step, err := s.keys("Step")
		if err != nil {
			return err
		}
		schema["allOf"] = []any{
			object{"not": exclude("steps", without(step, "respond")...)},
			object{"not": exclude("hook", append(without(step, "fails"), "steps", "from")...)},
			object{"not": exclude("from", "given", "definitionPatch", "webhooks")},
		}
		schema["dependencies"] = object{
			"request": []any{"hook"}, "response": []any{"hook"}, "hook": object{"anyOf": anyOf("response", "golden", "fails")},
			"invalid": object{"anyOf": anyOf("create", "apply", "patch")},
		}
	case "Step":
		schema["dependencies"] = object{"invalid": object{"anyOf": anyOf("create", "apply", "patch")}}
	case "Patch":
		schema["oneOf"] = anyOf("merge", "json")
	case "WebhookResponse":
		schema["not"] = object{"required": []any{"body", "text"}}
	case "Want":
		properties, _ := schema["properties"].(object)
		for _, list := range []string{"children", "attachments", "outputs", "objects", "absent"} {
			parts, _ := properties[list].(object)
			parts["minItems"] = 1
			parts["items"].(object)["required"] = []any{"kind"}
		}
	}
	return nil
}

// keys returns the names of the fields of a struct.
func (s *schemas) keys(name string) ([]string, error) {
	fields, err := s.fields(name)
	var keys []string
	for _, f := range fields {
		keys = append(keys, f.key)
	}
	return keys, err
}

func without(keys []string, key string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(other string) bool { return other == key })
}

// anyOf returns schemas of which each wants one of the fields.
func anyOf(keys ...string) []any {
	all := make([]any, len(keys))
	for i, key := range keys {
		all[i] = object{"required": []any{key}}
	}
	return all
}

// exclude returns the schema of objects that have a field and one of others beside it.
func exclude(key string, others ...string) object {
	return object{"required": []any{key}, "anyOf": anyOf(others...)}
}

func (s *schemas) add(name string, properties object, required *[]any) error {
	fields, err := s.fields(name)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if f.key == "" {
			if typeName(f.kind) == "metav1.TypeMeta" {
				continue
			}
			if err := s.add(typeName(f.kind), properties, required); err != nil {
				return err
			}
			continue
		}
		schema, err := s.schema(f.kind)
		if err != nil {
			return fmt.Errorf("%s.%s: %w", name, f.key, err)
		}
		if name != rootType && f.key != "each" {
			schema = orVariable(schema)
		}
		if f.doc != "" {
			schema["description"] = f.doc
		}
		properties[f.key] = schema
		if f.required {
			*required = append(*required, f.key)
		}
	}
	return nil
}

// orVariable returns a schema that a string with a variable fulfils too: each replaces it by a value of any type.
func orVariable(schema object) object {
	if kind, ok := schema["type"].(string); ok && kind != "string" {
		schema["type"] = []any{kind, "string"}
		schema["pattern"] = variable
	}
	for _, inner := range []string{"items", "additionalProperties"} {
		if element, ok := schema[inner].(object); ok {
			orVariable(element)
		}
	}
	return schema
}

// schema returns the schema of a type.
func (s *schemas) schema(t ast.Expr) (object, error) {
	name := typeName(t)
	if special := s.special[name]; special != nil {
		return special()
	}
	switch t := t.(type) {
	case *ast.StarExpr:
		return s.schema(t.X)
	case *ast.ArrayType:
		items, err := s.schema(t.Elt)
		return object{"type": "array", "items": items}, err
	case *ast.MapType:
		return s.dictionary(t)
	case *ast.Ident:
		return s.named(t.Name)
	}
	return nil, fmt.Errorf("testformat does not know %s: add it to the special types", name)
}

func (s *schemas) named(name string) (object, error) {
	switch name {
	case "string":
		return object{"type": "string"}, nil
	case "bool":
		return object{"type": "boolean"}, nil
	case "int", "int32", "int64":
		return object{"type": "integer"}, nil
	case "any":
		return object{}, nil
	}
	if s.types[name] == nil {
		return nil, fmt.Errorf("there is no type %s", name)
	}
	if _, ok := s.types[name].Type.(*ast.StructType); ok {
		return s.structure(name)
	}
	schema, err := s.schema(s.types[name].Type)
	if err != nil || len(s.values[name]) == 0 {
		return schema, err
	}
	var enum []any
	for _, v := range s.values[name] {
		enum = append(enum, v.text)
	}
	schema["enum"] = enum
	return schema, nil
}

// dictionary returns the schema of a map. Keys of a type with constants are fields.
func (s *schemas) dictionary(t *ast.MapType) (object, error) {
	if typeName(t.Value) == "any" {
		return object{"type": "object"}, nil
	}
	element, err := s.schema(t.Value)
	if err != nil {
		return nil, err
	}
	values := s.values[typeName(t.Key)]
	if len(values) == 0 {
		return object{"type": "object", "additionalProperties": element}, nil
	}
	properties := object{}
	for _, v := range values {
		field, err := s.schema(t.Value)
		if err != nil {
			return nil, err
		}
		field["description"] = prose(v.doc)
		properties[v.text] = field
	}
	return object{"type": "object", "additionalProperties": false, "properties": properties}, nil
}

func (s *schemas) duration() (object, error) {
	return object{"type": "string", "pattern": `^(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h))+$|^0$|\$\{`}, nil
}

// objectName returns the schema of an object's name, for which an object with kind and metadata may stand.
func (s *schemas) objectName() (object, error) {
	text := object{"type": "string"}
	metadata := object{
		"type": "object", "required": []any{"name"}, "additionalProperties": true, "properties": object{"name": text, "namespace": text},
	}
	return object{
		"type": []any{"string", "object"}, "pattern": `^[^/]+/[^/]+(/[^/]+)?$|\$\{`,
		"required": []any{"kind", "metadata"}, "additionalProperties": false,
		"properties":  object{"apiVersion": text, "kind": text, "metadata": metadata},
		"description": prose(s.docs["ObjectName"]),
	}, nil
}

func (s *schemas) selection() (object, error) {
	name, err := s.objectName()
	return object{"anyOf": []any{
		object{"type": "string", "enum": []any{"all", "none"}},
		object{"type": "string", "pattern": variable},
		object{"type": "array", "items": name},
	}}, err
}

// waiting returns the schema of what waits.
func (s *schemas) waiting() (object, error) {
	answer, err := s.structure("WaitingAnswer")
	if err != nil {
		return nil, err
	}
	name, err := s.objectName()
	return object{"anyOf": []any{
		object{"type": "string", "enum": []any{"none"}},
		object{"type": "string", "pattern": variable},
		object{"type": "array", "items": name},
		answer,
	}}, err
}

// deletion returns the schema of a deletion, for which the name of an object may stand.
func (s *schemas) deletion() (object, error) {
	structure, err := s.structure("Deletion")
	if err != nil {
		return nil, err
	}
	name, err := s.objectName()
	return object{"anyOf": []any{name, structure}}, err
}
