package live

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/jsonvalue"
)

// minSecret is the length from which on what a Secret holds is hidden in other objects and texts too: a shorter one is part of many words.
const minSecret = 6

// Secrets returns what is to be hidden in all that is told of objects: what Secrets hold, and what schemas call passwords. What is also the
// name of an object, or of its namespace, is none.
func (s *Subject) Secrets(ctx context.Context, objects []*unstructured.Unstructured) []string {
	names, found := map[string]bool{}, map[string]bool{}
	for _, object := range objects {
		names[object.GetName()], names[object.GetNamespace()] = true, true
		is := func(jsonvalue.Path) bool { return false }
		if kind := s.Schemas.For(ctx, object.GroupVersionKind()); kind != nil && !jsonvalue.IsSecret(object.Object) {
			is = kind.Secret
		}
		for _, text := range jsonvalue.SecretTexts(nil, object.Object, is) {
			found[text] = true
		}
	}
	maps.DeleteFunc(found, func(text string, _ bool) bool { return len(text) < minSecret || names[text] })
	return slices.Sorted(maps.Keys(found))
}

// MapStrings returns a copy of a value with other strings.
func MapStrings(value any, edit func(string) string) any {
	switch v := value.(type) {
	case string:
		return edit(v)
	case map[string]any:
		next := make(map[string]any, len(v))
		for name, field := range v {
			next[name] = MapStrings(field, edit)
		}
		return next
	case []any:
		next := make([]any, len(v))
		for i, item := range v {
			next[i] = MapStrings(item, edit)
		}
		return next
	default:
		return value
	}
}
