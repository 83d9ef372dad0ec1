package validation

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	kubejson "sigs.k8s.io/json"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// BuiltIn returns the built-in resources of Kubernetes and Libretto's ControllerRevisions, with schemas.
func BuiltIn() ([]memcluster.Resource, error) {
	resources := memcluster.BuiltIn()
	for i, resource := range resources {
		switch {
		case scheme.Scheme.Recognizes(resource.Kind):
			resources[i].Schema = builtIn{kind: resource.Kind, namespaced: resource.Namespaced}
		case resource.Custom:
			withSchema, err := Own(resource.GroupVersionResource.Resource)
			if err != nil {
				return nil, err
			}
			resources[i] = withSchema
		}
	}
	return resources, nil
}

// builtIn is the schema of a built-in kind: its type in Go. It has no defaults, and few of the API server's
// rules.
type builtIn struct {
	kind       schema.GroupVersionKind
	namespaced bool
}

// Decode drops the fields that the type does not have, and writes values in the form in which the API server
// keeps them, such as quantities.
func (b builtIn) Decode(object map[string]any) (dropped []string, err error) {
	typed, err := scheme.Scheme.New(b.kind)
	if err != nil {
		return nil, err
	}
	dropped, err = decodeTyped(object, typed)
	if err != nil {
		return nil, fmt.Errorf("%s in version %q cannot be handled as a %s: %w", b.kind.Kind, b.kind.Version, b.kind.Kind, err)
	}
	if b.kind.Group == "" && b.kind.Kind == "Secret" {
		encodeStringData(object)
	}
	return dropped, nil
}

// decodeTyped makes an object what is left of it in its type in Go. It returns the paths of the dropped fields.
func decodeTyped(object map[string]any, typed any) (dropped []string, err error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	strict, err := kubejson.UnmarshalStrict(text, typed)
	if err != nil {
		return nil, err
	}
	for _, problem := range strict {
		var at kubejson.FieldError
		if errors.As(problem, &at) && strings.HasPrefix(problem.Error(), "unknown field") {
			dropped = append(dropped, at.FieldPath())
		}
	}
	given, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return nil, err
	}
	dropAdded(given, object)
	if _, isRevision := typed.(*appsv1.ControllerRevision); isRevision && given["data"] != nil {
		given["data"] = object["data"] // It has no type: nulls are values.
	}
	clear(object)
	maps.Copy(object, given)
	return dropped, nil
}

// dropAdded removes the empty values of required fields that were not given.
func dropAdded(stored, given any) {
	switch s := stored.(type) {
	case map[string]any:
		g, ok := given.(map[string]any)
		if !ok {
			return
		}
		for name, value := range s {
			if before, was := g[name]; was && before != nil {
				dropAdded(value, before)
			} else if isEmpty(value) {
				delete(s, name)
			}
		}
	case []any:
		g, _ := given.([]any)
		for i := range min(len(s), len(g)) {
			dropAdded(s[i], g[i])
		}
	}
}

// isEmpty reports whether a value is that of a field that was not set: null, zero, or an object with nothing
// but such.
func isEmpty(value any) bool {
	switch v := value.(type) {
	case map[string]any:
		for _, field := range v {
			if !isEmpty(field) {
				return false
			}
		}
		return true
	case nil, string, bool, int64, float64:
		return v == nil || v == "" || v == false || v == int64(0) || v == float64(0)
	default:
		return false
	}
}

// encodeStringData moves a Secret's stringData to its data.
func encodeStringData(secret map[string]any) {
	texts, _ := secret["stringData"].(map[string]any)
	delete(secret, "stringData")
	if len(texts) == 0 {
		return
	}
	data, ok := secret["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		secret["data"] = data
	}
	for key, value := range texts {
		if text, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
}

// builtInTypes has the types of all built-in kinds.
var builtInTypes = sync.OnceValue(func() managedfields.TypeConverter { return applyconfigurations.NewTypeConverter(scheme.Scheme) })

// TypeConverter returns the types for server-side apply.
func (builtIn) TypeConverter() (managedfields.TypeConverter, error) { return builtInTypes(), nil }
