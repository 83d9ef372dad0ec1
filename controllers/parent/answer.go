package parent

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/engines"
)

// Answer reads a hook's response field by field and remembers the first thing
// that is wrong with it, so that a variant reads like the list of its fields.
type Answer struct {
	fields map[string]any
	rules  AnswerRules
	err    error
}

// AnswerRules say what is made of a response that is not quite what it should be.
type AnswerRules struct {
	// Fields are the names that a response may have.
	Fields []string
	// RefuseUnknown makes any other name an error.
	RefuseUnknown bool
	// AllowAbsentList takes an absent list for an empty one. It is for those who
	// wrote responseUnMarshallMode: loose out.
	AllowAbsentList bool
}

// ReadAnswer begins to read the body of a response.
func ReadAnswer(body any, rules AnswerRules) *Answer {
	fields, ok := body.(map[string]any)
	switch {
	case body == nil && rules.AllowAbsentList:
		return &Answer{}
	case body == nil:
		return &Answer{err: badResponse("the hook answered null where an object with %s is needed", list(rules.Fields))}
	case !ok:
		return &Answer{err: badResponse("the hook answered %s where an object with %s is needed", kindOf(body), list(rules.Fields))}
	}
	return &Answer{fields: fields, rules: rules}
}

// Err gives the first thing that was wrong, or nil. It is asked for when all
// fields have been read.
func (a *Answer) Err() error {
	if a.rules.RefuseUnknown {
		a.refuseUnknown(a.rules.Fields)
	}
	return a.err
}

// Objects reads a list of objects that each have apiVersion, kind and name. The
// list must be there, be it empty or null, unless allowAbsent.
func (a *Answer) Objects(field string, allowAbsent bool) []*unstructured.Unstructured {
	value, present := a.fields[field]
	if !present && !allowAbsent {
		a.fail("%s: is required, if only as an empty list%s: nothing was deleted for want of it", field, a.didYouMean(field))
	}
	items, ok := value.([]any)
	if !ok && value != nil {
		a.fail("%s: must be a list of objects, but is %s", field, kindOf(value))
	}
	objects := make([]*unstructured.Unstructured, 0, len(items))
	for i, item := range items {
		if object := a.object(fmt.Sprintf("%s[%d]", field, i), item); object != nil {
			objects = append(objects, object)
		}
	}
	return objects
}

func (a *Answer) object(path string, item any) *unstructured.Unstructured {
	fields, ok := item.(map[string]any)
	if !ok {
		a.fail("%s: must be an object, but is %s", path, kindOf(item))
		return nil
	}
	for _, required := range [][]string{{"apiVersion"}, {"kind"}, {"metadata", "name"}} {
		value, found, err := unstructured.NestedFieldNoCopy(fields, required...)
		text, isText := value.(string)
		switch {
		case !found || err != nil || value == nil || isText && text == "":
			a.fail("%s.%s: is required", path, strings.Join(required, "."))
			return nil
		case !isText:
			a.fail("%s.%s: must be a string, but is %s", path, strings.Join(required, "."), kindOf(value))
			return nil
		}
	}
	if err := plainMetadata(fields["metadata"].(map[string]any)); err != "" {
		a.fail("%s.metadata.%s", path, err)
		return nil
	}
	return &unstructured.Unstructured{Object: fields}
}

// plainMetadata finds what the accessors of unstructured objects would silently
// read as absent.
func plainMetadata(metadata map[string]any) string {
	if namespace, ok := metadata["namespace"]; ok && namespace != nil {
		if _, ok := namespace.(string); !ok {
			return "namespace: must be a string, but is " + kindOf(namespace)
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		entries, ok := metadata[field].(map[string]any)
		if !ok && metadata[field] != nil {
			return field + ": must be an object, but is " + kindOf(metadata[field])
		}
		for _, key := range sortedKeys(entries) {
			if _, ok := entries[key].(string); !ok && (entries[key] != nil || field == "labels") {
				return fmt.Sprintf("%s[%q]: must be a string, but is %s", field, key, kindOf(entries[key]))
			}
		}
	}
	return ""
}

// Map reads an object; null and absent give nil.
func (a *Answer) Map(field string) map[string]any {
	value, ok := a.fields[field].(map[string]any)
	if !ok && a.fields[field] != nil {
		a.fail("%s: must be an object, but is %s", field, kindOf(a.fields[field]))
	}
	return value
}

// Seconds reads a number; null and absent give 0.
func (a *Answer) Seconds(field string) float64 {
	switch value := a.fields[field].(type) {
	case nil:
		return 0
	case int64:
		return float64(value)
	case float64:
		return value
	default:
		a.fail("%s: must be a number of seconds, but is %s", field, kindOf(value))
		return 0
	}
}

// Bool reads a boolean; null and absent give false.
func (a *Answer) Bool(field string) bool {
	value, ok := a.fields[field].(bool)
	if !ok && a.fields[field] != nil {
		a.fail("%s: must be true or false, but is %s", field, kindOf(a.fields[field]))
	}
	return value
}

func (a *Answer) fail(format string, args ...any) {
	if a.err == nil {
		a.err = badResponse(format, args...)
	}
}

func (a *Answer) refuseUnknown(known []string) {
	for _, field := range sortedKeys(a.fields) {
		if !slices.Contains(known, field) {
			a.fail("%s: is no field of this hook's response, which has %s", field, list(known))
		}
	}
}

// didYouMean points at a field that differs from the wanted one in case, or is a
// prefix of it or the other way round.
func (a *Answer) didYouMean(wanted string) string {
	for _, field := range sortedKeys(a.fields) {
		lower := strings.ToLower(field)
		if strings.HasPrefix(lower, wanted) || strings.HasPrefix(wanted, lower) {
			return fmt.Sprintf(" (there is %q)", field)
		}
	}
	return ""
}

func badResponse(format string, args ...any) error {
	return &engines.Error{Kind: engines.BadResponse, Message: fmt.Sprintf(format, args...)}
}

// kindOf names a JSON type for people.
func kindOf(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	default:
		return fmt.Sprintf("a %T", value)
	}
}

func list(names []string) string { return strings.Join(names, ", ") }
