package types

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// writer writes declarations.
type writer struct {
	options     Options
	text        bytes.Buffer
	identifiers map[string]bool
	names       map[schema.GroupVersionKind]string
	// withStatus are the custom resources that have a status.
	withStatus map[schema.GroupVersionKind]bool
	// builtIns are the built-in kinds that definitions name.
	builtIns []schema.GroupVersionKind
	// later are interfaces to write.
	later            []part
	untyped, unknown []string
}

// part is an object in a schema, which becomes an interface.
type part struct {
	name, doc string
	schema    *apiextensionsv1.JSONSchemaProps
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.text, format, args...) }

// identifier returns a name that no other type has.
func (w *writer) identifier(text string) string {
	name := text
	for i := 2; w.identifiers[name]; i++ {
		name = text + strconv.Itoa(i)
	}
	w.identifiers[name] = true
	return name
}

// pascal returns a name as an identifier: example.com is ExampleCom.
func pascal(text string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		first, size := utf8.DecodeRuneInString(word)
		b.WriteString(string(unicode.ToUpper(first)) + word[size:])
	}
	if first, _ := utf8.DecodeRuneInString(b.String()); unicode.IsLetter(first) {
		return b.String()
	}
	return "T" + b.String()
}

// writeKind writes the interfaces of a custom resource.
func (w *writer) writeKind(c custom) {
	apiVersion, kind := c.kind.ToAPIVersionAndKind()
	name, s := w.names[c.kind], c.schema
	if s == nil {
		s = &apiextensionsv1.JSONSchemaProps{XPreserveUnknownFields: new(true)}
	}
	doc := s.Description
	if doc == "" {
		doc = fmt.Sprintf("%s of %s.", kind, apiVersion)
	}
	w.printf("\n")
	w.comment("", doc)
	w.printf("export interface %s {\n  apiVersion: %q;\n  kind: %q;\n  metadata: libretto.ObjectMeta;\n", name, apiVersion, kind)
	_, declared := s.Properties["status"]
	w.withStatus[c.kind] = declared || keepsUnknown(s)
	fields := maps.Clone(s.Properties)
	for _, standard := range []string{"apiVersion", "kind", "metadata"} {
		delete(fields, standard)
	}
	w.fields(name, s, fields)
	w.printf("}\n")
	for len(w.later) > 0 {
		next := w.later[0]
		w.later = w.later[1:]
		w.printf("\n")
		w.comment("", next.doc)
		w.printf("export interface %s {\n", next.name)
		if next.schema.XEmbeddedResource {
			w.embedded(next)
		} else {
			w.fields(next.name, next.schema, next.schema.Properties)
		}
		w.printf("}\n")
	}
}

// embedded writes the fields of an object in an object.
func (w *writer) embedded(p part) {
	w.printf("  apiVersion: string;\n  kind: string;\n  metadata?: Partial<libretto.ObjectMeta>;\n")
	fields := maps.Clone(p.schema.Properties)
	for _, standard := range []string{"apiVersion", "kind", "metadata"} {
		delete(fields, standard)
	}
	w.fields(p.name, p.schema, fields)
}

// fields writes the fields of an interface. One that is required, or has a default, is there when an object is read.
func (w *writer) fields(name string, s *apiextensionsv1.JSONSchemaProps, fields map[string]apiextensionsv1.JSONSchemaProps) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		field := fields[key]
		w.comment("  ", describe(&field))
		optional := "?"
		if slices.Contains(s.Required, key) || field.Default != nil {
			optional = ""
		}
		w.printf("  %s%s: %s;\n", property(key), optional, w.typeOf(name+pascal(key), &field))
	}
	if keepsUnknown(s) {
		w.printf("  [field: string]: any;\n")
	}
}

var plainKey = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_$]*$`)

// property returns the name of a field as TypeScript writes it.
func property(key string) string {
	if plainKey.MatchString(key) {
		return key
	}
	return literal(key)
}

// typeOf returns the type of a schema. name is for the interface of an object.
func (w *writer) typeOf(name string, s *apiextensionsv1.JSONSchemaProps) string {
	text := w.valueOf(name, s)
	if s.Nullable && text != "any" {
		text += " | null"
	}
	return text
}

func (w *writer) valueOf(name string, s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case len(s.Enum) > 0:
		var values []string
		for _, value := range s.Enum {
			if text := enumValue(value); text != "null" || !s.Nullable {
				values = append(values, text)
			}
		}
		return strings.Join(values, " | ")
	case s.XIntOrString:
		return "number | string"
	case s.Type == "array":
		return w.list(name, s)
	case s.Type == "object":
		return w.object(name, s)
	case s.Type == "integer" || s.Type == "number":
		return "number"
	case s.Type == "boolean" || s.Type == "string":
		return s.Type
	default:
		return "any"
	}
}

func (w *writer) list(name string, s *apiextensionsv1.JSONSchemaProps) string {
	if s.Items == nil || s.Items.Schema == nil {
		return "any[]"
	}
	item := w.typeOf(name+"Item", s.Items.Schema)
	if strings.Contains(item, " | ") {
		item = "(" + item + ")"
	}
	return item + "[]"
}

func (w *writer) object(name string, s *apiextensionsv1.JSONSchemaProps) string {
	switch {
	case len(s.Properties) > 0 || s.XEmbeddedResource:
		name = w.identifier(name)
		w.later = append(w.later, part{name, s.Description, s})
		return name
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return "{ [key: string]: " + w.typeOf(name+"Value", s.AdditionalProperties.Schema) + " }"
	case keepsUnknown(s) || s.AdditionalProperties != nil && s.AdditionalProperties.Allows:
		return "{ [key: string]: any }"
	default:
		return "{ [key: string]: never }"
	}
}

func keepsUnknown(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
}

// describe returns the comment of a field: its description, and what the type can't tell.
func describe(s *apiextensionsv1.JSONSchemaProps) string {
	lines := []string{}
	if text := strings.TrimSpace(s.Description); text != "" {
		lines = append(lines, text)
	}
	if s.Format != "" && s.Type == "string" {
		lines = append(lines, "@format "+s.Format)
	}
	if s.Default != nil {
		lines = append(lines, "@default "+string(s.Default.Raw))
	}
	return strings.Join(lines, "\n")
}

// comment writes a doc comment, if there is any text.
func (w *writer) comment(indent, text string) {
	text = strings.ReplaceAll(strings.TrimSpace(text), "*/", "*\\/")
	lines := strings.Split(text, "\n")
	switch {
	case text == "":
	case len(lines) == 1:
		w.printf("%s/** %s */\n", indent, text)
	default:
		w.printf("%s/**\n", indent)
		for _, line := range lines {
			w.printf("%s\n", strings.TrimRight(indent+" * "+strings.TrimSpace(line), " "))
		}
		w.printf("%s */\n", indent)
	}
}

// enumValue returns a value as a literal type.
func enumValue(value apiextensionsv1.JSON) string {
	if len(value.Raw) == 0 {
		return "null" // The decoder drops the text of null.
	}
	var decoded any
	if err := json.Unmarshal(value.Raw, &decoded); err != nil {
		return "any"
	}
	switch decoded.(type) {
	case nil, bool, float64, string:
		return literal(decoded)
	default:
		return "any"
	}
}

// literal returns a value of JSON as TypeScript writes it, which is the same.
func literal(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(fmt.Sprintf("writing a value that was read from JSON: %v", err))
	}
	return strings.TrimSpace(text.String())
}
