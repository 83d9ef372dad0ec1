package validation

import (
	"reflect"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kube-openapi/pkg/validation/spec"
	smdschema "sigs.k8s.io/structured-merge-diff/v6/schema"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// Components returns the schemas of resources as an API server publishes them in OpenAPI documents of version 3, with those that they refer
// to. Those of built-in kinds are of their types in Go.
func Components(resources []memcluster.Resource) map[string]any {
	c := components{}
	for _, resource := range resources {
		kind := []any{map[string]any{"group": resource.Kind.Group, "version": resource.Kind.Version, "kind": resource.Kind.Kind}}
		if custom, ok := resource.Schema.(*Custom); ok {
			root := custom.openAPI()
			docs := metav1.TypeMeta{}.SwaggerDoc()
			for _, name := range []string{"apiVersion", "kind"} {
				root.SetProperty(name, *spec.StringProperty().WithDescription(docs[name]))
			}
			name := c.add(reflect.TypeFor[metav1.ObjectMeta]())
			metadata := (&spec.Schema{}).WithAllOf(*spec.RefProperty(refPrefix + name))
			root.SetProperty("metadata", *metadata.WithDescription(corev1.ConfigMap{}.SwaggerDoc()["metadata"]))
			c[modelName(custom.kind)] = root
			continue
		}
		of := reflect.TypeFor[apiextensionsv1.CustomResourceDefinition]()
		if typed, err := scheme.Scheme.New(resource.Kind); err == nil {
			of = reflect.TypeOf(typed).Elem()
		}
		if model, ok := c[c.add(of)].(map[string]any); ok {
			model["x-kubernetes-group-version-kind"] = kind
		}
	}
	return c
}

const refPrefix = "#/components/schemas/"

// components are schemas of types in Go by the names of their models.
type components map[string]any

// add adds the schema of a struct, unless it is there, and returns its name.
func (c components) add(of reflect.Type) string {
	value := reflect.Zero(of).Interface()
	named, ok := value.(interface{ OpenAPIModelName() string })
	if !ok {
		return ""
	}
	name := named.OpenAPIModelName()
	if c[name] != nil {
		return name
	}
	model := map[string]any{}
	c[name] = model
	var docs map[string]string
	if documented, ok := value.(interface{ SwaggerDoc() map[string]string }); ok {
		docs = documented.SwaggerDoc()
		model["description"] = docs[""]
	}
	if formatted, ok := value.(interface {
		OpenAPISchemaType() []string
		OpenAPISchemaFormat() string
	}); ok {
		if types := formatted.OpenAPISchemaType(); len(types) > 0 {
			model["type"] = types[0]
		}
		if format := formatted.OpenAPISchemaFormat(); format != "" {
			model["format"] = format
		}
		return name
	}
	model["type"] = "object"
	properties, required := map[string]any{}, []any{}
	c.addFields(of, name, docs, properties, &required)
	if len(properties) > 0 {
		model["properties"] = properties
	}
	if len(required) > 0 {
		model["required"] = required
	}
	return name
}

// addFields adds the fields of a struct to the properties of a model. Those that are always written are required.
func (c components) addFields(of reflect.Type, model string, docs map[string]string, properties map[string]any, required *[]any) {
	for field := range of.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || !field.IsExported():
			continue
		case name == "" && field.Anonymous:
			embedded := docs
			if documented, ok := reflect.Zero(field.Type).Interface().(interface{ SwaggerDoc() map[string]string }); ok {
				embedded = documented.SwaggerDoc()
			}
			c.addFields(field.Type, model, embedded, properties, required)
			continue
		}
		property := c.schema(field.Type)
		if ref, isRef := property["$ref"]; isRef && docs[name] != "" {
			property = map[string]any{"allOf": []any{map[string]any{"$ref": ref}}}
		}
		if docs[name] != "" {
			property["description"] = docs[name]
		}
		if strategy := field.Tag.Get("patchStrategy"); strategy != "" {
			property["x-kubernetes-patch-strategy"] = strategy
		}
		if key := field.Tag.Get("patchMergeKey"); key != "" {
			property["x-kubernetes-patch-merge-key"] = key
		}
		addRelation(property, model, name)
		properties[name] = property
		if !strings.Contains(options, "omitempty") {
			*required = append(*required, name)
		}
	}
}

// schema returns the schema of a type, which is a reference for a struct with a model.
func (c components) schema(of reflect.Type) map[string]any {
	switch of.Kind() {
	case reflect.Pointer:
		return c.schema(of.Elem())
	case reflect.Struct:
		if name := c.add(of); name != "" {
			return map[string]any{"$ref": refPrefix + name}
		}
		return map[string]any{"type": "object"}
	case reflect.Slice:
		if of.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "format": "byte"}
		}
		return map[string]any{"type": "array", "items": c.schema(of.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": c.schema(of.Elem())}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer", "format": of.Kind().String()}
	case reflect.Float64:
		return map[string]any{"type": "number", "format": "double"}
	default:
		return map[string]any{}
	}
}

// models are the types of server-side apply, which know what the tags of fields do not tell: how the items of lists belong together.
var models = sync.OnceValue(func() *smdschema.Schema {
	typed, err := builtInTypes().ObjectToTyped(&corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}})
	if err != nil {
		return &smdschema.Schema{}
	}
	return typed.Schema()
})

// addRelation adds to the schema of a field how the items of its list, or the fields of its map, belong together.
func addRelation(property map[string]any, model, name string) {
	of, ok := models().FindNamedType(model)
	if !ok || of.Map == nil {
		return
	}
	field, ok := of.Map.FindField(name)
	switch inlined := field.Type.Inlined; {
	case !ok:
	case inlined.List != nil && inlined.List.ElementRelationship == smdschema.Atomic:
		property["x-kubernetes-list-type"] = "atomic"
	case inlined.List != nil && len(inlined.List.Keys) > 0:
		property["x-kubernetes-list-type"], property["x-kubernetes-list-map-keys"] = "map", toAny(inlined.List.Keys)
	case inlined.List != nil:
		property["x-kubernetes-list-type"] = "set"
	case inlined.Map != nil && inlined.Map.ElementRelationship == smdschema.Atomic:
		property["x-kubernetes-map-type"] = "atomic"
	}
}
