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

// fieldTypes returns the fields that a hook's requests can have, which expressions see as
// variables. For a hook that is not known here it returns those of all hooks. Composites,
// decorators and maps have hooks of one name, and at load it is not known which of them calls.
func fieldTypes(hook string) map[string]*cel.Type {
	byHook := requestFields()
	if fields, ok := byHook[hook]; ok {
		return fields
	}
	all := map[string]*cel.Type{}
	for _, fields := range byHook {
		maps.Copy(all, fields)
	}
	return all
}

// fieldsOf returns the names of the fields that a hook's requests can have, sorted.
func fieldsOf(hook string) []string { return slices.Sorted(maps.Keys(fieldTypes(hook))) }

// declarations declares the request, and fields of it.
func declarations(fields []string) []cel.EnvOption {
	declared := []cel.EnvOption{cel.Variable("request", anyObject)}
	known := fieldTypes("")
	for _, field := range fields {
		declared = append(declared, cel.Variable(field, known[field]))
	}
	return declared
}
