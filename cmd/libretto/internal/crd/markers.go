package crd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// property is a field, or a type of its own.
type property struct {
	schema              apiextensionsv1.JSONSchemaProps
	required, immutable bool
}

// marker is what may be said of a field.
type marker struct {
	// types are those of the schemas that it is for. None is for all.
	types []string
	set   func(f *property, value string) error
}

var numbers = []string{"integer", "number"}

// markers are all that there are.
var markers = map[string]marker{
	"required":    {set: boolean(func(f *property) *bool { return &f.required })},
	"immutable":   {set: boolean(func(f *property) *bool { return &f.immutable })},
	"nullable":    {set: boolean(func(f *property) *bool { return &f.schema.Nullable })},
	"description": {set: text(func(f *property) *string { return &f.schema.Description })},
	"default":     {set: setDefault},
	"enum":        {types: []string{"string", "integer", "number"}, set: setEnum},
	"validation":  {set: addRule},
	"message":     {set: setMessage},
	"format":      {types: append([]string{"string"}, numbers...), set: text(func(f *property) *string { return &f.schema.Format })},
	"pattern":     {types: []string{"string"}, set: setPattern},

	"minimum":          {types: numbers, set: number(func(f *property) **float64 { return &f.schema.Minimum })},
	"maximum":          {types: numbers, set: number(func(f *property) **float64 { return &f.schema.Maximum })},
	"multipleOf":       {types: numbers, set: number(func(f *property) **float64 { return &f.schema.MultipleOf })},
	"exclusiveMinimum": {types: numbers, set: boolean(func(f *property) *bool { return &f.schema.ExclusiveMinimum })},
	"exclusiveMaximum": {types: numbers, set: boolean(func(f *property) *bool { return &f.schema.ExclusiveMaximum })},

	"minLength":     {types: []string{"string"}, set: count(func(f *property) **int64 { return &f.schema.MinLength })},
	"maxLength":     {types: []string{"string"}, set: count(func(f *property) **int64 { return &f.schema.MaxLength })},
	"minItems":      {types: []string{"array"}, set: count(func(f *property) **int64 { return &f.schema.MinItems })},
	"maxItems":      {types: []string{"array"}, set: count(func(f *property) **int64 { return &f.schema.MaxItems })},
	"minProperties": {types: []string{"object"}, set: count(func(f *property) **int64 { return &f.schema.MinProperties })},
	"maxProperties": {types: []string{"object"}, set: count(func(f *property) **int64 { return &f.schema.MaxProperties })},

	"listType":   {types: []string{"array"}, set: setListType},
	"listMapKey": {types: []string{"array"}, set: addListMapKey},
}

// elsewhere are markers of kro and of OpenAPI that the API server has no use for, with what to say in their place.
var elsewhere = map[string]string{
	"uniqueItems":              "the API server refuses it: use listType=set",
	"x-kubernetes-validations": "use validation=",
}

// apply sets what a marker says of a field.
func (f *property) apply(name, value string) error {
	m, known := markers[name]
	if !known {
		meant := elsewhere[name]
		if meant == "" {
			meant = spelling.Meant(name, slices.Collect(maps.Keys(markers)))
		}
		if meant == "" {
			meant = "there are " + strings.Join(slices.Sorted(maps.Keys(markers)), ", ")
		}
		return fmt.Errorf("there is no marker %s: %s", name, meant)
	}
	if m.types != nil && !slices.Contains(m.types, f.schema.Type) {
		types := strings.Join(m.types, " and ")
		return fmt.Errorf("marker %s is for %s, and this is %s: leave it out, or change the type", name, types, f.typeName())
	}
	if err := m.set(f, value); err != nil {
		return fmt.Errorf("%s=%s: %w", name, value, err)
	}
	return nil
}

// typeName returns what the type of a field is called in messages.
func (f *property) typeName() string {
	if f.schema.Type == "" {
		return intOrString
	}
	return f.schema.Type
}

func boolean(of func(*property) *bool) func(*property, string) error {
	return func(f *property, value string) error {
		if value != "true" && value != "false" {
			return errors.New("must be true or false")
		}
		*of(f) = value == "true"
		return nil
	}
}

func text(of func(*property) *string) func(*property, string) error {
	return func(f *property, value string) error {
		*of(f) = value
		return nil
	}
}

func number(of func(*property) **float64) func(*property, string) error {
	return func(f *property, value string) error {
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return errors.New("must be a number")
		}
		*of(f) = &n
		return nil
	}
}

func count(of func(*property) **int64) func(*property, string) error {
	return func(f *property, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < 0 {
			return errors.New("must be a whole number that is not negative")
		}
		*of(f) = &n
		return nil
	}
}

// literal returns a value of the field's type as JSON.
func (f *property) literal(value string) (apiextensionsv1.JSON, error) {
	if f.schema.Type == "string" {
		raw, err := json.Marshal(value)
		return apiextensionsv1.JSON{Raw: raw}, err
	}
	raw, err := yaml.YAMLToJSON([]byte(value))
	if err != nil {
		return apiextensionsv1.JSON{}, fmt.Errorf("must be a value of type %s", f.typeName())
	}
	return apiextensionsv1.JSON{Raw: raw}, nil
}

func setDefault(f *property, value string) error {
	parsed, err := f.literal(value)
	f.schema.Default = &parsed
	return err
}

func setEnum(f *property, value string) error {
	for one := range strings.SplitSeq(value, ",") {
		one = strings.TrimSpace(one)
		parsed, err := f.literal(one)
		if err != nil {
			return err
		}
		if _, err := strconv.ParseFloat(one, 64); err != nil && f.schema.Type != "string" {
			return fmt.Errorf("%s is no %s", one, f.schema.Type)
		}
		f.schema.Enum = append(f.schema.Enum, parsed)
	}
	return nil
}

func addRule(f *property, value string) error {
	f.schema.XValidations = append(f.schema.XValidations, apiextensionsv1.ValidationRule{Rule: value})
	return nil
}

// setMessage sets the message of the rule before it.
func setMessage(f *property, value string) error {
	rules := f.schema.XValidations
	if len(rules) == 0 || rules[len(rules)-1].Message != "" {
		return errors.New("must follow the validation that it is the message of")
	}
	rules[len(rules)-1].Message = value
	return nil
}

func setPattern(f *property, value string) error {
	f.schema.Pattern = value
	_, err := regexp.Compile(value)
	return err
}

func setListType(f *property, value string) error {
	f.schema.XListType = &value
	if known := []string{"atomic", "map", "set"}; !slices.Contains(known, value) {
		return errors.New(spelling.List(known))
	}
	return nil
}

// checkList returns an error for a list whose items can't be told apart.
func (f *property) checkList() error {
	keys := f.schema.XListMapKeys
	isMap := f.schema.XListType != nil && *f.schema.XListType == "map"
	switch {
	case !isMap && len(keys) > 0:
		return errors.New("listMapKey is for lists with listType=map: add that")
	case isMap && len(keys) == 0:
		return errors.New("listType=map needs a listMapKey=, the name of a field that tells the items apart")
	}
	for _, key := range keys {
		items := f.schema.Items.Schema
		if found, is := items.Properties[key]; !is {
			return fmt.Errorf("listMapKey=%s: the items have no such field: %s", key,
				cmp.Or(spelling.Hint(key, slices.Collect(maps.Keys(items.Properties))), "they must be objects"))
		} else if found.Default == nil && !slices.Contains(items.Required, key) {
			return fmt.Errorf("listMapKey=%s: the field must have required=true, or a default", key)
		}
	}
	return nil
}

// checkBounds returns an error for a field that no value is right for.
func (f *property) checkBounds() error {
	s := &f.schema
	for name, crossed := range map[string]bool{
		"minimum": exceeds(s.Minimum, s.Maximum), "minLength": exceeds(s.MinLength, s.MaxLength),
		"minItems": exceeds(s.MinItems, s.MaxItems), "minProperties": exceeds(s.MinProperties, s.MaxProperties),
	} {
		if crossed {
			return fmt.Errorf("%s is more than the maximum beside it, so that no value is right: correct one of them", name)
		}
	}
	return nil
}

func exceeds[N int64 | float64](least, most *N) bool {
	return least != nil && most != nil && *least > *most
}

func addListMapKey(f *property, value string) error {
	f.schema.XListMapKeys = append(f.schema.XListMapKeys, value)
	return nil
}

// assignment is a marker with its value.
type assignment struct{ name, value string }

// split parts a field into its type and its markers.
func split(line string) (string, []assignment, error) {
	kind, rest, _ := strings.Cut(line, "|")
	var all []assignment
	for {
		rest = strings.TrimLeft(rest, " \t\n|")
		if rest == "" {
			return strings.TrimSpace(kind), all, nil
		}
		end := strings.IndexAny(rest, "= \t\n|")
		if end < 0 {
			end = len(rest)
		}
		name := rest[:end]
		if !strings.HasPrefix(rest[end:], "=") {
			return "", nil, fmt.Errorf("marker %s has no value: markers are like required=true", name)
		}
		value, after, err := cutValue(rest[end+1:])
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", name, err)
		}
		all, rest = append(all, assignment{name, value}), after
	}
}

// cutValue returns the value that a text begins with, and what is after it: what is in quotes, or what is before the next space that is
// in no brackets.
func cutValue(rest string) (value, after string, err error) {
	if rest == "" || strings.ContainsRune(" \t\n", rune(rest[0])) {
		return "", "", errors.New(`there is no value after =: an empty one is ""`)
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		end := closing(rest, quote)
		if end < 0 {
			const hint = "if the line has a # or a colon with a space, put all of it into quotes"
			return "", "", fmt.Errorf("there is no %c at the end of %s: %s", quote, rest, hint)
		}
		value = rest[1:end]
		if quote == '"' {
			value = unescape.Replace(value)
		}
		return value, rest[end+1:], nil
	}
	depth := 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case strings.ContainsRune("[{", rune(c)):
			depth++
		case strings.ContainsRune("]}", rune(c)):
			depth--
		case depth > 0 && (c == '"' || c == '\''):
			if end := closing(rest[i:], c); end > 0 {
				i += end
			}
		case depth == 0 && strings.ContainsRune(" \t\n|", rune(c)):
			return rest[:i], rest[i:], nil
		}
	}
	return rest, "", nil
}

// unescape undoes what is escaped in double quotes. Other backslashes are those of patterns.
var unescape = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// closing returns the index of the quote that closes the first one, or -1. In double quotes a backslash is before one that does not.
func closing(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] == quote:
			return i
		}
	}
	return -1
}
