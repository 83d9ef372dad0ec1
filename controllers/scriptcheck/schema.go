package scriptcheck

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

// types is a set of types of JSON. None means any.
type types uint8

const (
	text types = 1 << iota
	integer
	number
	boolean
	list
	object
)

// typeNames are the names of OpenAPI.
var typeNames = []string{"string", "integer", "number", "boolean", "array", "object"}

func typesOf(names ...string) types {
	var t types
	for _, name := range names {
		if i := slices.Index(typeNames, name); i >= 0 {
			t |= 1 << i
		}
	}
	return t
}

// String names the types with an article.
func (t types) String() string {
	words := []string{"a string", "an integer", "a number", "a boolean", "a list", "an object"}
	var all []string
	for i, word := range words {
		if t&(1<<i) != 0 {
			all = append(all, word)
		}
	}
	return strings.Join(all, " or ")
}

// accepts reports whether a value of the types other may be one of t. Nothing is known of the value of a number: it may be whole.
func (t types) accepts(other types) bool {
	numbers := integer | number
	return t == 0 || other == 0 || t&other != 0 || t&numbers != 0 && other&numbers != 0
}

// shape is what values of a schema look like. It is shared and never changes once it is made.
type shape struct {
	types types
	// fields are those of an object, and rest is the shape of further ones. Without rest there are none unless isOpen is set.
	fields map[string]*shape
	rest   *shape
	isOpen bool
	// name is that of the Go type, if it is one, and docs describe fields.
	name string
	docs map[string]string
	// isClosed refuses unknown keys in brackets too: it is for groups of objects, whose names are no identifiers.
	isClosed bool
	// isKubernetes is a type of the version of Kubernetes that this program is built with: a cluster may have one with more fields.
	isKubernetes bool
	// isGroups has objects of any kind, in groups by their kind.
	isGroups bool
	items    *shape
	enum     []string
	// among are the groups of objects that those of a list must be of, if it is one of objects that are answered, and placed those that must
	// name a namespace.
	among, placed *shape
	// oneOf are what the values are of, if they are of several shapes.
	oneOf []*shape
}

// anything is the shape of which nothing is known.
var anything = &shape{isOpen: true}

// names returns those of the fields.
func (s *shape) names() []string {
	var all []string
	for name := range s.fields {
		all = append(all, name)
	}
	return all
}

// field returns the shape of a field, and whether there can be one of that name.
func (s *shape) field(name string) (*shape, bool) {
	switch f, ok := s.fields[name]; {
	case ok:
		return f, true
	case s.types == 0:
		return anything, true
	case s.types&object == 0:
		return nil, false
	case s.rest != nil:
		return s.rest, true
	default:
		return anything, s.isOpen
	}
}

// goShapes makes shapes of Go types, by their JSON.
type goShapes map[reflect.Type]*shape

func (g goShapes) of(t reflect.Type) *shape {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := g[t]; ok {
		return s
	}
	s := &shape{}
	g[t] = s
	if g.marshaled(t, s) {
		return s
	}
	switch t.Kind() {
	case reflect.String:
		s.types = text
	case reflect.Bool:
		s.types = boolean
	case reflect.Float32, reflect.Float64:
		s.types = number
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			s.types = text
		} else {
			s.types, s.items = list, g.of(t.Elem())
		}
	case reflect.Map:
		s.types, s.rest = object, g.of(t.Elem())
	case reflect.Struct:
		s.types, s.fields, s.isKubernetes = object, map[string]*shape{}, strings.HasPrefix(t.PkgPath(), "k8s.io/")
		s.name, s.docs = t.Name(), map[string]string{}
		g.addFields(s, t)
	case reflect.Interface:
		*s = *anything
	default:
		s.types = integer
	}
	return s
}

// marshaled sets the shape of a type that writes its own JSON, and reports whether it is one.
func (g goShapes) marshaled(t reflect.Type, s *shape) bool {
	value := reflect.New(t).Interface()
	if _, ok := value.(json.Marshaler); !ok {
		return false
	}
	if several, ok := value.(interface{ OpenAPIV3OneOfTypes() []string }); ok {
		s.types = typesOf(several.OpenAPIV3OneOfTypes()...)
	} else if one, ok := value.(interface{ OpenAPISchemaType() []string }); ok {
		s.types = typesOf(one.OpenAPISchemaType()...)
	}
	s.isOpen = true
	return true
}

func (g goShapes) addFields(s *shape, t reflect.Type) {
	if described, ok := reflect.Zero(t).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
		maps.Copy(s.docs, described.SwaggerDoc())
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name != "":
			s.fields[name] = g.of(f.Type)
		case f.Type.Kind() == reflect.Map:
			s.isOpen = true
		case f.Anonymous || strings.Contains(options, "inline"):
			inner := f.Type
			for inner.Kind() == reflect.Pointer {
				inner = inner.Elem()
			}
			g.addFields(s, inner)
		default:
			s.fields[f.Name] = g.of(f.Type)
		}
	}
}

// builtIn returns the shape of a built-in kind, or nil.
func (g goShapes) builtIn(kind schema.GroupVersionKind) *shape {
	typed, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil
	}
	return g.of(reflect.TypeOf(typed))
}

// custom returns the shape of a schema of a CustomResourceDefinition.
func (g goShapes) custom(props *apiextensionsv1.JSONSchemaProps) *shape {
	s := &shape{types: typesOf(props.Type)}
	s.isOpen = props.XPreserveUnknownFields != nil && *props.XPreserveUnknownFields
	if props.XIntOrString {
		s.types = text | integer
	}
	for _, value := range props.Enum {
		var word string
		if json.Unmarshal(value.Raw, &word) == nil {
			s.enum = append(s.enum, word)
		}
	}
	if len(props.Properties) > 0 {
		s.fields, s.docs = map[string]*shape{}, map[string]string{}
		for name := range props.Properties {
			property := props.Properties[name]
			s.fields[name], s.docs[name] = g.custom(&property), property.Description
		}
	}
	switch more := props.AdditionalProperties; {
	case more != nil && more.Schema != nil:
		s.rest = g.custom(more.Schema)
	case more != nil && more.Allows, len(props.Properties) == 0:
		s.isOpen = true // An object without any field is mostly one whose author has not got to them.
	}
	if props.Items != nil && props.Items.Schema != nil {
		s.items = g.custom(props.Items.Schema)
	}
	if props.XEmbeddedResource {
		g.addObjectFields(s)
	}
	return s
}

// addObjectFields adds the fields that all objects have.
func (g goShapes) addObjectFields(s *shape) {
	if s.fields == nil {
		s.fields = map[string]*shape{}
	}
	s.fields["apiVersion"], s.fields["kind"] = &shape{types: text}, &shape{types: text}
	s.fields["metadata"] = g.of(reflect.TypeFor[metav1.ObjectMeta]())
}
