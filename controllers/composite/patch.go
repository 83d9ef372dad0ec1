package composite

import (
	"maps"
	"strings"
)

// splitPaths makes paths of revisionHistory.fieldPaths, as "spec.template".
func splitPaths(fieldPaths []string) [][]string {
	paths := make([][]string, len(fieldPaths))
	for i, path := range fieldPaths {
		paths[i] = strings.Split(path, ".")
	}
	return paths
}

// patchOf reduces a parent to the fields at paths (section 3.9 of the
// specification). What the parent does not have is left out.
func patchOf(object map[string]any, paths [][]string) map[string]any {
	patch := map[string]any{}
	for _, path := range paths {
		if value := valueAt(object, path); value != nil {
			patch = withValue(patch, path, value)
		}
	}
	return patch
}

// patched gives a parent with the fields at paths as they are in patch. Unlike
// in metacontroller a field that patch does not have is taken away: the parent
// did not have it then.
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

// valueAt gives the value at path, or nil if there is none.
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

// withValue gives a copy of object that has value at path. All beside the path is shared.
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

// withoutValue gives object with nothing at path: a copy, unless it is so already.
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
