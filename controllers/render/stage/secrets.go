package stage

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply/merge"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// HideSecrets returns a value in which the values of Secrets are hidden, and what the schemas of other objects call a password. It
// does not change its argument.
func HideSecrets(value any, schemaOf func(schema.GroupVersionKind) *openapi.Kind) any {
	switch v := value.(type) {
	case map[string]any:
		if jsonvalue.IsSecret(v) {
			return hidden(v)
		}
		object := unstructured.Unstructured{Object: v}
		if _, named := v["metadata"].(map[string]any); named && object.GetKind() != "" {
			if kind := schemaOf(object.GroupVersionKind()); kind != nil {
				visible, _ := jsonvalue.Redact(nil, v, kind.Secret)
				return visible
			}
		}
		next := make(map[string]any, len(v))
		for name, field := range v {
			next[name] = HideSecrets(field, schemaOf)
		}
		return next
	case []any:
		next := make([]any, len(v))
		for i, item := range v {
			next[i] = HideSecrets(item, schemaOf)
		}
		return next
	default:
		return value
	}
}

// hidden returns a Secret with its keys and without its values. What is in data becomes text, because (hidden) is no
// base64: the result is still a Secret that an API server takes.
func hidden(secret map[string]any) map[string]any {
	next := maps.Clone(secret)
	texts := map[string]any{}
	for _, field := range []string{"data", "stringData"} {
		fields, _ := secret[field].(map[string]any)
		for key := range fields {
			texts[key] = jsonvalue.Hidden
		}
		delete(next, field)
	}
	if len(texts) > 0 {
		next["stringData"] = texts
	}
	if meta, ok := secret["metadata"].(map[string]any); ok {
		if annotations, ok := meta["annotations"].(map[string]any); ok {
			annotations = maps.Clone(annotations)
			for _, name := range []string{merge.LastApplied, "kubectl.kubernetes.io/last-applied-configuration"} {
				if annotations[name] != nil {
					annotations[name] = jsonvalue.Hidden
				}
			}
			next["metadata"] = jsonvalue.With(meta, "annotations", annotations)
		}
	}
	return next
}
