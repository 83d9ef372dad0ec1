package engines

import (
	"maps"
	"regexp"
	"slices"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// groupName matches the names of groups of objects, such as Pod.v1 and Deployment.apps/v1.
var groupName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*\.([a-z0-9.-]+/)?v[0-9][a-z0-9]*$`)

// MissingField returns what to say about a field that a script asked for and that is not there: the one of fields that was meant, or
// for a group of objects which there are among them, or "".
func MissingField(name string, fields []string) string {
	if groupName.MatchString(name) {
		return spelling.Hint(name, slices.DeleteFunc(slices.Clone(fields), func(field string) bool { return !groupName.MatchString(field) }))
	}
	return spelling.Meant(name, fields)
}

// counterparts are the fields of requests that are called otherwise for the other kind of definition: composites have parent and children,
// decorators object and attachments.
var counterparts = map[string]string{"object": "parent", "parent": "object", "attachments": "children", "children": "attachments"}

// MissingRequestField is MissingField for a field of a request.
func MissingRequestField(name string, fields []string) string {
	if other := counterparts[name]; slices.Contains(fields, other) {
		return "did you mean " + other + "?"
	}
	return MissingField(name, fields)
}

// fieldName matches the names of fields, and not most of objects, labels and keys of data.
var fieldName = regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)

// maxFields bounds the fields of a request that FieldNames goes through.
const maxFields = 100_000

// FieldNames returns the names of a request that may be shown to those who can read events: of fields and of groups of objects, each once
// and sorted. Names of objects and what people choose for labels, annotations and data are not among them, nor is what is in Secrets.
func FieldNames(request map[string]any) []string {
	names, left := map[string]bool{}, maxFields
	var walk func(value any, isGroup bool)
	walk = func(value any, isGroup bool) {
		list, _ := value.([]any)
		for _, item := range list {
			walk(item, false)
		}
		fields, _ := value.(map[string]any)
		for name, field := range fields {
			if left--; left < 0 {
				return
			}
			group := groupName.MatchString(name)
			if !isGroup && (group || fieldName.MatchString(name)) {
				names[name] = true
			}
			if !isChosen[name] && !jsonvalue.IsSecret(jsonvalue.AsObject(field)) {
				walk(field, group)
			}
		}
	}
	walk(request, false)
	return slices.Sorted(maps.Keys(names))
}

// isChosen has the fields whose keys people choose.
var isChosen = map[string]bool{"labels": true, "annotations": true, "matchLabels": true, "data": true, "binaryData": true,
	"stringData": true}
