package stage

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply/merge"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// minSecret is the length from which on what a Secret holds is hidden in other objects and texts too: a shorter one is part of many words.
const minSecret = 6

// SecretTexts returns what is to be hidden in all output about objects: what Secrets contain, and what schemas call passwords. What is also
// the name of an object, of its namespace, or part of its API version, is none. Each is there as it is, as JSON and URLs have it, and in
// base64.
func SecretTexts(objects []*unstructured.Unstructured, schemaOf func(schema.GroupVersionKind) *openapi.Kind) []string {
	names, found := map[string]bool{}, map[string]bool{}
	var versions []string
	for _, object := range objects {
		names[object.GetName()], names[object.GetNamespace()] = true, true
		versions = append(versions, object.GetAPIVersion())
		is := func(jsonvalue.Path) bool { return false }
		if kind := schemaOf(object.GroupVersionKind()); kind != nil && !jsonvalue.IsSecret(object.Object) {
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

// HideSecrets returns a value in which the values of Secrets are hidden, and what the schemas of other objects call a password. It
// does not change its argument.
func HideSecrets(value any, schemaOf func(schema.GroupVersionKind) *openapi.Kind) any {
	return jsonvalue.Map(value, func(value any) (any, bool) {
		v := jsonvalue.AsObject(value)
		if jsonvalue.IsSecret(v) {
			return hidden(v), true
		}
		object := unstructured.Unstructured{Object: v}
		if _, named := v["metadata"].(map[string]any); named && object.GetKind() != "" {
			if kind := schemaOf(object.GroupVersionKind()); kind != nil {
				visible, _ := jsonvalue.Redact(nil, v, kind.Secret)
				return visible, true
			}
		}
		return value, false
	})
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
