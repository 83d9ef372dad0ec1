package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// OpenAPI serves OpenAPI documents as an API server does. It has those of custom resources.
type OpenAPI struct {
	documents map[string]func() ([]byte, error)
}

// Documents returns the OpenAPI documents of resources.
func Documents(resources []memcluster.Resource) OpenAPI {
	kinds := map[string][]*Custom{}
	for _, resource := range resources {
		if custom, ok := resource.Schema.(*Custom); ok {
			path := "apis/" + custom.kind.GroupVersion().String()
			kinds[path] = append(kinds[path], custom)
		}
	}
	o := OpenAPI{map[string]func() ([]byte, error){}}
	for path, all := range kinds {
		o.documents[path] = func() ([]byte, error) {
			schemas := map[string]any{}
			for _, custom := range all {
				schemas[modelName(custom.kind)] = custom.openAPI()
			}
			return json.Marshal(map[string]any{"openapi": "3.0.0", "components": map[string]any{"schemas": schemas}})
		}
	}
	return o
}

const openAPIRoot = "/openapi/v3"

// Fetch returns the index or a document.
func (o OpenAPI) Fetch(_ context.Context, path string) ([]byte, error) {
	if path == openAPIRoot {
		paths := map[string]any{}
		for path := range o.documents {
			paths[path] = map[string]any{"serverRelativeURL": openAPIRoot + "/" + path}
		}
		return json.Marshal(map[string]any{"paths": paths})
	}
	document, ok := o.documents[strings.TrimPrefix(path, openAPIRoot+"/")]
	if !ok {
		return nil, fmt.Errorf("there is no document %s", path)
	}
	return document()
}

// openAPI returns the schema as the API server publishes it: with metadata and the fields of the type.
func (c *Custom) openAPI() *spec.Schema {
	root := c.structural.ToKubeOpenAPI()
	addObjectFields(root)
	addEmbedded(root)
	root.AddExtension("x-kubernetes-group-version-kind", []any{
		map[string]any{"group": c.kind.Group, "version": c.kind.Version, "kind": c.kind.Kind},
	})
	return root
}

// modelName returns the name of a kind's schema in OpenAPI documents.
func modelName(kind schema.GroupVersionKind) string {
	parts := strings.Split(kind.Group, ".")
	slices.Reverse(parts)
	return fmt.Sprintf("%s.%s.%s", strings.Join(parts, "."), kind.Version, kind.Kind)
}

// addEmbedded adds the fields that every object has to embedded ones.
func addEmbedded(s *spec.Schema) {
	if s == nil {
		return
	}
	for name, property := range s.Properties {
		addEmbedded(&property)
		s.Properties[name] = property
	}
	if s.Items != nil {
		addEmbedded(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		addEmbedded(s.AdditionalProperties.Schema)
	}
	if embedded, _ := s.Extensions.GetBool("x-kubernetes-embedded-resource"); embedded {
		addObjectFields(s)
	}
}

func addObjectFields(s *spec.Schema) {
	s.SetProperty("apiVersion", *spec.StringProperty())
	s.SetProperty("kind", *spec.StringProperty())
	s.SetProperty("metadata", *objectMeta())
}

// objectMeta returns the schema of metadata, as far as it matters for merging.
func objectMeta() *spec.Schema {
	meta := object()
	for _, name := range []string{"name", "generateName", "namespace", "selfLink", "uid", "resourceVersion"} {
		meta.SetProperty(name, *spec.StringProperty())
	}
	for _, name := range []string{"creationTimestamp", "deletionTimestamp"} {
		meta.SetProperty(name, *spec.DateTimeProperty())
	}
	for _, name := range []string{"generation", "deletionGracePeriodSeconds"} {
		meta.SetProperty(name, *spec.Int64Property())
	}
	for _, name := range []string{"labels", "annotations"} {
		meta.SetProperty(name, *spec.MapProperty(spec.StringProperty()))
	}
	meta.SetProperty("finalizers", *list(spec.StringProperty(), "set"))
	owner := object()
	owner.AddExtension("x-kubernetes-map-type", "atomic")
	for _, name := range []string{"apiVersion", "kind", "name", "uid"} {
		owner.SetProperty(name, *spec.StringProperty())
	}
	owner.SetProperty("controller", *spec.BoolProperty())
	owner.SetProperty("blockOwnerDeletion", *spec.BoolProperty())
	meta.SetProperty("ownerReferences", *list(owner, "map", "uid"))
	entry := object()
	for _, name := range []string{"apiVersion", "fieldsType", "manager", "operation", "subresource", "time"} {
		entry.SetProperty(name, *spec.StringProperty())
	}
	entry.SetProperty("fieldsV1", *object())
	meta.SetProperty("managedFields", *list(entry, "atomic"))
	return meta
}

func object() *spec.Schema { return (&spec.Schema{}).Typed("object", "") }

// list returns a list of a type, with the keys of its items if it is a map.
func list(items *spec.Schema, kind string, keys ...string) *spec.Schema {
	s := spec.ArrayProperty(items)
	s.AddExtension("x-kubernetes-list-type", kind)
	if len(keys) > 0 {
		s.AddExtension("x-kubernetes-list-map-keys", toAny(keys))
	}
	return s
}

func toAny(values []string) []any {
	list := make([]any, len(values))
	for i, value := range values {
		list[i] = value
	}
	return list
}
