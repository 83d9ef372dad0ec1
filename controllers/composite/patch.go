package composite

import "github.com/libretto-k8s/libretto/runtime/values/jsonvalue"

// patchOf returns the fields of a parent at paths (section 3.9 of the specification).
// Fields that the parent does not have are left out.
func patchOf(object map[string]any, paths [][]string) map[string]any {
	patch := map[string]any{}
	for _, path := range paths {
		if value := valueAt(object, path); value != nil {
			patch = jsonvalue.WithValueAt(patch, path, value)
		}
	}
	return patch
}

// withPatch returns a parent with the fields at paths as in patch. Unlike metacontroller it
// removes fields that patch does not have, as the parent did not have them at that time.
func withPatch(object, patch map[string]any, paths [][]string) map[string]any {
	for _, path := range paths {
		if value := valueAt(patch, path); value != nil {
			object = jsonvalue.WithValueAt(object, path, value)
		} else if valueAt(object, path) != nil {
			object, _ = jsonvalue.WithoutValueAt(object, path)
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
