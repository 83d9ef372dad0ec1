package cel

import (
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
)

var (
	anyObject = cel.MapType(cel.StringType, cel.DynType)
	// grouped is how requests hold objects: by kind, such as "Pod.v1", then by name.
	grouped = cel.MapType(cel.StringType, cel.MapType(cel.StringType, anyObject))
)

// fieldTypes returns the fields that requests can have, which expressions see as
// variables (section 2 of the specification; section 9 for maps).
func fieldTypes() map[string]*cel.Type {
	return map[string]*cel.Type{
		"controller":  anyObject,
		"parent":      anyObject,
		"object":      anyObject,
		"input":       anyObject,
		"children":    grouped,
		"attachments": grouped,
		"outputs":     grouped,
		"related":     grouped,
		"finalizing":  cel.BoolType,
		"mapKey":      cel.StringType,
		"parameters":  cel.DynType,
	}
}

// fieldsOf lists the fields that a hook's requests can have, or all for a hook that
// is not known here. Composites, decorators and maps have hooks of one name, and
// which of them asks is not known at load.
func fieldsOf(hook string) []string {
	switch hook {
	case "sync":
		return []string{"attachments", "children", "controller", "finalizing", "object", "parameters", "parent", "related"}
	case "finalize":
		return []string{"attachments", "children", "controller", "finalizing", "object", "outputs", "parameters", "parent", "related"}
	case "customize":
		return []string{"controller", "parameters", "parent"}
	case "map":
		return []string{"controller", "input", "mapKey", "outputs", "parameters", "parent", "related"}
	case "tombstone":
		return []string{"controller", "mapKey", "outputs", "parameters", "parent", "related"}
	default:
		return slices.Sorted(maps.Keys(fieldTypes()))
	}
}

// declarations declares the request, and fields of it.
func declarations(fields []string) []cel.EnvOption {
	declared := []cel.EnvOption{cel.Variable("request", anyObject)}
	known := fieldTypes()
	for _, field := range fields {
		declared = append(declared, cel.Variable(field, known[field]))
	}
	return declared
}
