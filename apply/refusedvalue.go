package apply

import (
	"encoding/base64"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

var (
	// wrongType matches what the API server says about a value of another type than a field has. The path has no index of a list.
	wrongType = regexp.MustCompile(`cannot unmarshal (\w+) ?(\S*) into Go struct field \w+\.(\S+) of type (\S+)`)
	// wrongTypeApplied matches what server-side apply says. It has the whole path.
	wrongTypeApplied = regexp.MustCompile(`failed to create typed patch object .*: expected (string|numeric|boolean|list|map)\b`)
)

// kinds are the types of JSON by the words of the API server.
var kinds = map[string]string{
	"string": "a string", "number": "a number", "numeric": "a number", "bool": "a boolean", "boolean": "a boolean",
	"array": "a list", "list": "a list", "object": "an object", "map": "an object",
}

// conversions say how a script makes a value of a type.
var conversions = map[string]string{
	"a string":  "write String(x), in Jsonnet std.toString(x), in CEL string(x)",
	"a number":  "write Number(x), in Jsonnet std.parseInt(x), in CEL int(x)",
	"a boolean": `write true or false without quotes, or compare, as in x == "true"`,
	"a list":    "write it in brackets, as in [x]",
	"an object": "write it in braces, as in {name: x}",
}

// explained returns the API server's error about a change, with the place of the value that it refuses and what to write there, where its
// own words have neither.
func (c Change) explained(err error) error {
	if advice := c.refusedValue(err.Error()); advice != "" {
		return WithText(err, err.Error()+": "+advice)
	}
	return err
}

func (c Change) refusedValue(message string) string {
	if found := wrongTypeApplied.FindStringSubmatch(message); found != nil {
		return conversions[kinds[found[1]]]
	}
	if found := wrongType.FindStringSubmatch(message); found != nil {
		return c.wrongType(kinds[found[1]], found[2], found[3], found[4])
	}
	switch {
	case c.Object == nil:
		return ""
	case strings.Contains(message, resource.ErrFormatWrong.Error()), strings.Contains(message, resource.ErrSuffix.Error()),
		strings.Contains(message, resource.ErrNumeric.Error()):
		return c.noQuantity()
	case strings.Contains(message, "illegal base64 data"):
		return noBase64(c.Object.Object)
	}
	return ""
}

// wrongType says which value of the type given, with that text if there is one, is at a path without indices, and what a field of a
// type of Go takes instead.
func (c Change) wrongType(given, text, path, goType string) string {
	wanted := "an object"
	switch {
	case strings.HasPrefix(goType, "[]"):
		wanted = "a list"
	case goType == "string" || goType == "bool":
		wanted = kinds[goType]
	case strings.HasPrefix(goType, "int"), strings.HasPrefix(goType, "uint"), strings.HasPrefix(goType, "float"):
		wanted = "a number"
	}
	isMeant := func(value any) bool {
		return jsonvalue.KindOf(value) == given && (text == "" || fmt.Sprint(value) == text)
	}
	at, value := c.find(func(fields []string, value any) bool { // That of a map has no key.
		return strings.Join(fields[:len(fields)-1], ".") == path && isMeant(value)
	})
	if at == "" {
		at, value = c.find(func(fields []string, value any) bool { return strings.Join(fields, ".") == path && isMeant(value) })
	}
	advice := conversions[wanted]
	if wanted == "a string" && (given == "an object" || given == "a list") {
		advice = "write JSON.stringify(x), in Jsonnet std.manifestJson(x), or what is in it one level up"
	}
	switch public := fielddiff.PublicPath(c.Key.Kind, at); {
	case at == "":
		return ""
	case given == wanted:
		return fmt.Sprintf("%s is %v, which has a fraction or is too large for it", at, value)
	case public != at:
		at = "a value in " + public
	}
	return fmt.Sprintf("%s must be %s, but is %s: %s", at, wanted, given, advice)
}

// noQuantity says which value is no quantity.
func (c Change) noQuantity() string {
	at, value := c.find(func(fields []string, value any) bool {
		text, isText := value.(string)
		_, err := resource.ParseQuantity(text)
		return isText && err != nil && len(fields) > 1 && merge.IsQuantity(fields[len(fields)-2], fields[len(fields)-1])
	})
	if at == "" {
		return ""
	}
	return fmt.Sprintf("%s is %q: write a number and its unit without a space, such as 500m, 1Gi or 1G", at, value)
}

// noBase64 says which value of a Secret's data, or of a ConfigMap's binaryData, is no base64. It names the key, unless it can't be one and
// may be a value that was mixed up with it: this is the only message that names a key of a Secret.
func noBase64(object map[string]any) string {
	field, text := "data", "stringData"
	if !jsonvalue.IsSecret(object) {
		field, text = "binaryData", "data"
	}
	values := jsonvalue.ObjectIn(object, field)
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value, isText := values[key].(string)
		if _, err := base64.StdEncoding.DecodeString(value); !isText || err == nil {
			continue
		}
		at := jsonvalue.Path{{Pair: jsonvalue.Pair{Name: field}}, {Pair: jsonvalue.Pair{Name: key}}}.String()
		if len(validation.IsConfigMapKey(key)) > 0 {
			at = "a value in " + field
		}
		return fmt.Sprintf("%s is no base64: write it as it is into %s", at, text)
	}
	return ""
}

// find returns the path and the value of the first place in what was sent of which matches is true, by the names of the fields on the way,
// or "" if there is none.
func (c Change) find(matches func(fields []string, value any) bool) (at string, value any) {
	if c.Object == nil {
		return "", nil
	}
	return findIn(nil, nil, c.Object.Object, matches)
}

func findIn(path jsonvalue.Path, fields []string, v any, matches func(fields []string, value any) bool) (at string, value any) {
	if len(fields) > 0 && matches(fields, v) {
		return path.String(), v
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			below := append(slices.Clip(path), jsonvalue.Step{Pair: jsonvalue.Pair{Name: name}})
			if at, value = findIn(below, append(slices.Clip(fields), name), v[name], matches); at != "" {
				return at, value
			}
		}
	case []any:
		for i, item := range v {
			below := append(slices.Clip(path), jsonvalue.Step{Pair: jsonvalue.Pair{Name: strconv.Itoa(i)}, Item: true})
			if at, value = findIn(below, fields, item, matches); at != "" {
				return at, value
			}
		}
	}
	return "", nil
}
