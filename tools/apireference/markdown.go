package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type schema = apiextensionsv1.JSONSchemaProps

// writer collects the text. Its sections map the schema of each described object to the
// heading of its section.
type writer struct {
	text     bytes.Buffer
	sections map[string]string
}

// object is an object that gets a section of its own.
type object struct {
	kind, path string
	schema     schema
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.text, format, args...) }

func (w *writer) kind(crd *apiextensionsv1.CustomResourceDefinition) error {
	names := crd.Spec.Names
	for _, version := range crd.Spec.Versions {
		if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
			return fmt.Errorf("version %s has no schema", version.Name)
		}
		root := *version.Schema.OpenAPIV3Schema
		w.printf("\n## %s\n\n`apiVersion: %s/%s`, `kind: %s`. %s resource `%s`",
			names.Kind, crd.Spec.Group, version.Name, names.Kind, scope(crd.Spec.Scope), names.Plural)
		if len(names.ShortNames) > 0 {
			w.printf(", short `%s`", strings.Join(names.ShortNames, "`, `"))
		}
		w.printf(".\n\n%s\n", prose(root.Description))
		for _, standard := range []string{"apiVersion", "kind", "metadata"} {
			delete(root.Properties, standard)
		}
		w.objects(object{kind: names.Kind, schema: root})
	}
	return nil
}

// objects writes a table for an object, and then for the objects in it.
func (w *writer) objects(o object) {
	if o.path != "" {
		w.printf("\n### %s\n\n%s\n", heading(o), prose(o.schema.Description))
	}
	if messages := rules(o.schema); len(messages) > 0 {
		w.printf("\n- %s\n", strings.Join(messages, "\n- "))
	}
	w.printf("\n| Field | Type | Description |\n| --- | --- | --- |\n")
	var inner []object
	for _, name := range slices.Sorted(maps.Keys(o.schema.Properties)) {
		field := o.schema.Properties[name]
		child := object{kind: o.kind, path: strings.TrimPrefix(o.path+"."+name, "."), schema: field}
		element, list := field, ""
		if field.Items != nil && field.Items.Schema != nil {
			element, list = *field.Items.Schema, "list of "
			child.path += "[]"
		}
		kind := list + typeName(element)
		if len(element.Properties) > 0 {
			if element.Description != "" || list == "" {
				child.schema = element
			} else {
				child.schema.Properties = element.Properties
			}
			section, known := w.sections[key(element)]
			if !known {
				section = heading(child)
				w.sections[key(element)] = section
				inner = append(inner, child)
			}
			kind = fmt.Sprintf("[%s](#%s)", kind, anchor(section))
		}
		required := ""
		if slices.Contains(o.schema.Required, name) {
			required = " (required)"
		}
		w.printf("| `%s`%s | %s | %s |\n", name, required, kind, cell(name, field, element))
	}
	for _, child := range inner {
		w.objects(child)
	}
}

// cell returns the text of the table about a field: its description, default, allowed
// values and rules, unless the field has a section of its own.
func cell(name string, field, element schema) string {
	parts := []string{}
	if description := prose(field.Description); description != "" {
		// A Go comment begins with the name of the Go field.
		if strings.HasPrefix(strings.ToLower(description), strings.ToLower(name)+" ") {
			description = "`" + name + "`" + description[len(name):]
		}
		parts = append(parts, description)
	}
	if field.Default != nil {
		parts = append(parts, fmt.Sprintf("Default: `%s`.", field.Default.Raw))
	}
	if len(element.Enum) > 0 {
		values := make([]string, 0, len(element.Enum))
		for _, value := range element.Enum {
			values = append(values, "`"+strings.Trim(string(value.Raw), `"`)+"`")
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	parts = append(parts, bounds(field)...)
	if isList := field.Items != nil; isList || len(element.Properties) == 0 {
		parts = append(parts, rules(field)...)
	}
	return strings.ReplaceAll(strings.Join(parts, " "), "|", `\|`)
}

// bounds returns the limits of the length of a list and of a number.
func bounds(s schema) []string {
	var parts []string
	if s.MinItems != nil {
		parts = append(parts, fmt.Sprintf("At least %d.", *s.MinItems))
	}
	if s.MaxItems != nil {
		parts = append(parts, fmt.Sprintf("At most %d.", *s.MaxItems))
	}
	if s.Minimum != nil && s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("From %v to %v.", *s.Minimum, *s.Maximum))
	}
	return parts
}

// rules returns the messages of the validation rules.
func rules(s schema) []string {
	var messages []string
	for _, rule := range s.XValidations {
		messages = append(messages, "*Rule: "+prose(rule.Message)+".*")
	}
	return messages
}

func typeName(s schema) string {
	switch {
	case s.XIntOrString:
		return "integer or string"
	case s.Type == "" && s.XPreserveUnknownFields != nil:
		return "any JSON"
	case s.Type == "object" && s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "map of " + typeName(*s.AdditionalProperties.Schema)
	default:
		return s.Type
	}
}

// key returns the same text for two objects that differ only in their own descriptions.
func key(s schema) string {
	s.Description = ""
	data, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("writing a schema that was read from JSON: %v", err))
	}
	return string(data)
}

func heading(o object) string { return o.kind + " " + o.path }

// anchor returns GitHub's anchor of a heading.
func anchor(heading string) string {
	keep := func(r rune) rune {
		switch r {
		case ' ':
			return '-'
		case '.', '[', ']':
			return -1
		default:
			return r
		}
	}
	return strings.ToLower(strings.Map(keep, heading))
}

func scope(s apiextensionsv1.ResourceScope) string {
	if s == apiextensionsv1.ClusterScoped {
		return "Cluster-scoped"
	}
	return "Namespaced"
}

// prose joins the lines of a comment, and escapes its <placeholders>.
func prose(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "<", "&lt;")
}
