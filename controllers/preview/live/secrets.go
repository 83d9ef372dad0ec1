package live

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/jsonvalue"
)

// minSecret is the length from which on what a Secret holds is hidden in other objects and texts too: a shorter one is part of many words.
const minSecret = 6

// Secrets returns what is to be hidden in all that is told of objects: what Secrets hold, and what schemas call passwords. What is also the
// name of an object, of its namespace, or part of its API version, is none. Each is there as it is, as JSON and URLs have it, and in base64.
func (s *Subject) Secrets(ctx context.Context, objects []*unstructured.Unstructured) []string {
	names, found := map[string]bool{}, map[string]bool{}
	var versions []string
	for _, object := range objects {
		names[object.GetName()], names[object.GetNamespace()] = true, true
		versions = append(versions, object.GetAPIVersion())
		is := func(jsonvalue.Path) bool { return false }
		if kind := s.Schemas.For(ctx, object.GroupVersionKind()); kind != nil && !jsonvalue.IsSecret(object.Object) {
			is = kind.Secret
		}
		for _, text := range jsonvalue.SecretTexts(nil, object.Object, is) {
			addForms(found, text)
		}
	}
	all := strings.Join(versions, " ")
	maps.DeleteFunc(found, func(text string, _ bool) bool {
		return len(text) < minSecret || names[text] || strings.Contains(all, text)
	})
	return slices.Sorted(maps.Keys(found))
}

// addForms adds a secret, what is in it if it is JSON, such as the passwords of registries, and how URLs and base64 write these.
func addForms(found map[string]bool, text string) {
	for _, part := range append(stringsOfJSON(text), text) {
		found[part] = true
		trimmed := strings.TrimSpace(part)
		if len(trimmed) < minSecret {
			continue
		}
		for _, plain := range []string{part, trimmed} {
			found[url.QueryEscape(plain)], found[url.PathEscape(plain)] = true, true
			found[strings.ReplaceAll(url.QueryEscape(plain), "+", "%20")] = true // As encodeURIComponent does.
			// Without padding it is part of what has one.
			for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				found[encoding.EncodeToString([]byte(plain))] = true
			}
		}
	}
}

// stringsOfJSON returns the strings in an object or a list that is JSON, and what they are in base64 of.
func stringsOfJSON(text string) []string {
	var value any
	if !strings.ContainsAny(text, "{[") || json.Unmarshal([]byte(text), &value) != nil {
		return nil
	}
	return jsonvalue.SecretTexts(nil, value, func(jsonvalue.Path) bool { return true })
}

// ObjectsIn returns the objects in the lists of an answer.
func ObjectsIn(response any) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, list := range jsonvalue.AsObject(response) {
		items, _ := list.([]any)
		for _, item := range items {
			if object := jsonvalue.AsObject(item); object["kind"] != nil {
				all = append(all, &unstructured.Unstructured{Object: object})
			}
		}
	}
	return all
}

// All returns the objects that were read, and those that the first pass wanted and its hooks answered.
func (r *Reading) All() []*unstructured.Unstructured {
	all := slices.Clone(r.Objects)
	if r.Outcome == nil || r.Outcome.First == nil {
		return all
	}
	all = append(all, r.Outcome.First.Desired...)
	for _, call := range r.Outcome.First.Calls {
		all = append(all, ObjectsIn(call.Response)...)
	}
	return all
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
