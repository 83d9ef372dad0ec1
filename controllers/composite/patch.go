package composite

import (
	"maps"
	"strings"
)

// splitPaths splits revisionHistory.fieldPaths, such as "spec.template".
func splitPaths(fieldPaths []string) [][]string {
	paths := make([][]string, len(fieldPaths))
	for i, path := range fieldPaths {
		paths[i] = strings.Split(path, ".")
	}
	return paths
}

// patchOf returns the fields of a parent at paths (section 3.9 of the specification).
// Fields that the parent does not have are left out.
func patchOf(object map[string]any, paths [][]string) map[string]any {
	patch := map[string]any{}
	for _, path := range paths {
		if value := valueAt(object, path); value != nil {
			patch = withValue(patch, path, value)
		}
	}
	return patch
}

// withPatch returns a parent with the fields at paths as in patch. Unlike metacontroller it
// removes fields that patch does not have, as the parent did not have them at that time.
func withPatch(object, patch map[string]any, paths [][]string) map[string]any {
	for _, path := range paths {
		if value := valueAt(patch, path); value != nil {
			object = withValue(object, path, value)
		} else {
			object = withoutValue(object, path)
		}
	}
	return object
}

// valueAt returns the value at path, or nil if there is none.
func valueAt(object map[string]any, path []string) any {
	value := any(object)
	for _, field := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[field]
	}
	return value
}

// withValue returns a copy of object with value at path. Everything else is shared.
func withValue(object map[string]any, path []string, value any) map[string]any {
	result := make(map[string]any, len(object)+1)
	maps.Copy(result, object)
	if len(path) > 1 {
		inner, _ := object[path[0]].(map[string]any)
		value = withValue(inner, path[1:], value)
	}
	result[path[0]] = value
	return result
}

// withoutValue returns object without the value at path: a copy, unless there is none.
func withoutValue(object map[string]any, path []string) map[string]any {
	if valueAt(object, path) == nil {
		return object
	}
	result := maps.Clone(object)
	if len(path) == 1 {
		delete(result, path[0])
	} else {
		result[path[0]] = withoutValue(object[path[0]].(map[string]any), path[1:])
	}
	return result
}
