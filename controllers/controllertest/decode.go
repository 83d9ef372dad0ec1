package controllertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// decoder decodes values of a file into types of the format. It notes every field that the format does not have, and every
// value of a wrong type, with its place.
type decoder struct {
	place    func(field string) engines.Location
	problems []*document.Error
}

func (d *decoder) failf(field, format string, args ...any) {
	d.problems = append(d.problems, &document.Error{Location: d.place(field), Message: fmt.Sprintf(format, args...)})
}

var (
	timeType       = reflect.TypeFor[metav1.Time]()
	durationType   = reflect.TypeFor[metav1.Duration]()
	givenType      = reflect.TypeFor[Given]()
	waitingType    = reflect.TypeFor[Waiting]()
	selectionType  = reflect.TypeFor[Selection]()
	objectNameType = reflect.TypeFor[ObjectName]()
	deletionType   = reflect.TypeFor[Deletion]()
)

// decode sets a variable to a value. Null leaves it as it is.
func (d *decoder) decode(field string, value any, into reflect.Value) {
	if value == nil {
		return
	}
	switch into.Type() {
	case timeType:
		d.decodeTime(field, value, into)
		return
	case durationType:
		d.decodeDuration(field, value, into)
		return
	case givenType:
		d.decodeGiven(field, value, into.Addr().Interface().(*Given))
		return
	case selectionType:
		d.decodeSelection(field, value, into.Addr().Interface().(*Selection))
		return
	case waitingType:
		d.decodeWaiting(field, value, into.Addr().Interface().(*Waiting))
		return
	case objectNameType:
		into.SetString(string(d.objectName(field, value)))
		return
	case deletionType:
		if _, isObject := value.(map[string]any); !isObject || isReference(value) {
			into.Addr().Interface().(*Deletion).Object = d.objectName(field, value)
			return
		}
	}
	d.decodeKind(field, value, into)
}

// decodeKind decodes values that need nothing special.
func (d *decoder) decodeKind(field string, value any, into reflect.Value) {
	switch into.Kind() {
	case reflect.Interface:
		into.Set(reflect.ValueOf(value))
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.decode(field, value, into.Elem())
	case reflect.String:
		if text, ok := value.(string); ok {
			into.SetString(text)
		} else {
			d.wrongType(field, value, "a string: put it into quotes")
		}
	case reflect.Bool:
		if truth, ok := value.(bool); ok {
			into.SetBool(truth)
		} else {
			d.wrongType(field, value, "true or false")
		}
	case reflect.Int:
		if number, ok := value.(int64); ok {
			into.SetInt(number)
		} else {
			d.wrongType(field, value, "a whole number")
		}
	case reflect.Slice:
		d.decodeList(field, value, into)
	case reflect.Map:
		d.decodeMap(field, value, into)
	case reflect.Struct:
		d.decodeStruct(field, value, into)
	}
}

func (d *decoder) wrongType(field string, value any, want string) {
	d.failf(field, "%s is %s, and must be %s", shortField(field), describeType(value), want)
}

func (d *decoder) decodeList(field string, value any, into reflect.Value) {
	items, ok := value.([]any)
	if !ok {
		d.wrongType(field, value, "a list")
		return
	}
	into.Set(reflect.MakeSlice(into.Type(), len(items), len(items)))
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", field, i)
		if item == nil {
			d.failf(at, "%s is empty", shortField(at))
			continue
		}
		d.decode(at, item, into.Index(i))
	}
}

func (d *decoder) decodeMap(field string, value any, into reflect.Value) {
	fields, ok := value.(map[string]any)
	if !ok {
		d.wrongType(field, value, "an object")
		return
	}
	if into.Type().Elem().Kind() == reflect.Interface {
		into.Set(reflect.ValueOf(fields))
		return
	}
	into.Set(reflect.MakeMapWithSize(into.Type(), len(fields)))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		element := reflect.New(into.Type().Elem()).Elem()
		d.decode(join(field, name), fields[name], element)
		into.SetMapIndex(reflect.ValueOf(name).Convert(into.Type().Key()), element)
	}
}

func (d *decoder) decodeStruct(field string, value any, into reflect.Value) {
	fields, ok := value.(map[string]any)
	if !ok {
		d.wrongType(field, value, "an object")
		return
	}
	known := map[string]reflect.Value{}
	fieldsOf(into, known)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		target, ok := known[name]
		if !ok {
			d.unknown(field, name, slices.Sorted(maps.Keys(known)))
			continue
		}
		d.decode(join(field, name), fields[name], target)
	}
}

// unknown notes a field that the format does not have, with the name that was meant.
func (d *decoder) unknown(field, name string, known []string) {
	where := shortField(field)
	if where == "" {
		where = "the document"
	}
	if meant := spelling.Meant(name, known); meant != "" {
		d.failf(join(field, name), "%s has no field %s: %s", where, name, meant)
		return
	}
	d.failf(join(field, name), "%s has no field %s: it has %s", where, name, strings.Join(known, ", "))
}

// fieldsOf adds the fields of a struct by their names in JSON, with those of embedded structs.
func fieldsOf(value reflect.Value, into map[string]reflect.Value) {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if !field.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if strings.Contains(options, "inline") {
			fieldsOf(value.Field(i), into)
		} else if name != "" && name != "-" {
			into[name] = value.Field(i)
		}
	}
}

func (d *decoder) decodeTime(field string, value any, into reflect.Value) {
	text, _ := value.(string)
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		d.failf(field, "%s must be a time like 2026-01-01T00:00:00Z, in quotes", shortField(field))
		return
	}
	into.Set(reflect.ValueOf(metav1.NewTime(at.UTC())))
}

// maxDuration is how long a step may wait, on the clock of the case.
const maxDuration = 10 * 365 * 24 * time.Hour

func (d *decoder) decodeDuration(field string, value any, into reflect.Value) {
	text, _ := value.(string)
	duration, err := time.ParseDuration(text)
	if err != nil || duration < 0 || duration > maxDuration {
		d.failf(field, "%s must be a duration like 90s, 5m or 1h30m, and ten years at most", shortField(field))
		return
	}
	into.Set(reflect.ValueOf(metav1.Duration{Duration: duration}))
}

func (d *decoder) decodeGiven(field string, value any, into *Given) {
	switch value := value.(type) {
	case string:
		into.File = value
	case map[string]any:
		into.Object = value
	default:
		d.wrongType(field, value, "an object, or the name of a file")
	}
}

func (d *decoder) decodeSelection(field string, value any, into *Selection) {
	items, isList := value.([]any)
	switch {
	case value == "all":
		into.All = true
	case value == "none":
	case isList:
		for i, item := range items {
			into.Names = append(into.Names, d.objectName(fmt.Sprintf("%s[%d]", field, i), item))
		}
	default:
		d.wrongType(field, value, "all, none or a list of objects' names")
	}
}

func (d *decoder) decodeWaiting(field string, value any, into *Waiting) {
	fields, isObject := value.(map[string]any)
	_, isList := value.([]any)
	switch {
	case value == "none":
		into.Answer = &WaitingAnswer{}
	case isList:
		d.decode(field, value, reflect.ValueOf(&into.Children).Elem())
	case isObject && len(fields) > 0:
		d.decode(field, value, reflect.ValueOf(&into.Answer).Elem())
	default:
		d.wrongType(field, value, "a list of objects' names, {reason, message}, or none")
	}
}

// isReference reports whether a value names an object by its kind and metadata.
func isReference(value any) bool {
	fields, _ := value.(map[string]any)
	_, kind := fields["kind"]
	_, metadata := fields["metadata"]
	return kind || metadata
}

// objectName returns the name in a value: a string, or an object with kind and metadata.
func (d *decoder) objectName(field string, value any) ObjectName {
	switch value := value.(type) {
	case string:
		parts := strings.Split(value, "/")
		if len(parts) < 2 || len(parts) > 3 || slices.Contains(parts, "") {
			d.failf(field, "%s: %q is no name of an object: write Kind/name or Kind/namespace/name", shortField(field), value)
		}
		return ObjectName(value)
	case map[string]any:
		for name := range value {
			if !slices.Contains([]string{"apiVersion", "kind", "metadata"}, name) {
				d.unknown(field, name, []string{"apiVersion", "kind", "metadata"})
			}
		}
		metadata, _ := value["metadata"].(map[string]any)
		kind, _ := value["kind"].(string)
		name, _ := metadata["name"].(string)
		namespace, _ := metadata["namespace"].(string)
		if kind == "" || name == "" {
			d.failf(field, "%s: an object is named by kind and metadata.name", shortField(field))
		}
		return nameOf(kind, namespace, name)
	default:
		d.wrongType(field, value, "Kind/name, Kind/namespace/name, or an object with kind and metadata")
		return ""
	}
}

func nameOf(kind, namespace, name string) ObjectName {
	if namespace == "" {
		return ObjectName(kind + "/" + name)
	}
	return ObjectName(kind + "/" + namespace + "/" + name)
}

func describeType(value any) string {
	switch value := value.(type) {
	case string:
		return "a string"
	case bool:
		return fmt.Sprint(value)
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	default:
		text, _ := json.Marshal(value)
		return "the number " + string(text)
	}
}

// join returns the path of a field, as document.Object.Place takes it.
func join(field, name string) string {
	switch {
	case strings.ContainsAny(name, ".[]"):
		return field + "[" + name + "]"
	case field == "":
		return name
	default:
		return field + "." + name
	}
}

// shortField returns a path without the case, whose place is known.
func shortField(field string) string {
	if rest, ok := strings.CutPrefix(field, "cases["); ok {
		number, rest, _ := strings.Cut(rest, "]")
		if rest == "" {
			return "cases[" + number + "]"
		}
		return strings.TrimPrefix(rest, ".")
	}
	return field
}
