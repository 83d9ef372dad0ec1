package parent

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// objectOf gives the object that an item of a list is, or the path from there to
// what is wrong with it, and what that is.
func objectOf(item any) (object *unstructured.Unstructured, problem string) {
	fields, ok := item.(map[string]any)
	if !ok {
		return nil, ": must be an object, but is " + kindOf(item)
	}
	metadata, _ := fields["metadata"].(map[string]any)
	problem = cmp.Or(
		named(".apiVersion", fields["apiVersion"]), named(".kind", fields["kind"]), named(".metadata.name", metadata["name"]),
		plainMetadata(metadata),
	)
	if problem != "" {
		return nil, problem
	}
	return &unstructured.Unstructured{Object: fields}, ""
}

// named finds what keeps a value from being a name.
func named(path string, value any) string {
	text, ok := value.(string)
	switch {
	case ok && text != "":
		return ""
	case ok || value == nil:
		return path + ": is required"
	default:
		return path + ": must be a string, but is " + kindOf(value)
	}
}

// plainMetadata finds what the accessors of unstructured objects would silently
// read as absent.
func plainMetadata(metadata map[string]any) string {
	if _, ok := metadata["namespace"].(string); !ok && metadata["namespace"] != nil {
		return ".metadata.namespace: must be a string, but is " + kindOf(metadata["namespace"])
	}
	return cmp.Or(plainEntries("labels", metadata, false), plainEntries("annotations", metadata, true))
}

// plainEntries finds what is no string in a map of strings, the first by its key.
func plainEntries(field string, metadata map[string]any, nullable bool) string {
	entries, ok := metadata[field].(map[string]any)
	if !ok && metadata[field] != nil {
		return ".metadata." + field + ": must be an object, but is " + kindOf(metadata[field])
	}
	wrong, found := "", false
	for key, value := range entries {
		_, ok := value.(string)
		if ok || value == nil && nullable || found && key > wrong {
			continue
		}
		wrong, found = key, true
	}
	if !found {
		return ""
	}
	return fmt.Sprintf(".metadata.%s[%q]: must be a string, but is %s", field, wrong, kindOf(entries[wrong]))
}
