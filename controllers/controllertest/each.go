package controllertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// expand returns the cases that each makes of one, or the one.
func (p *parser) expand(object *document.Object, field string, fields map[string]any) ([]map[string]any, *document.Error) {
	fail := func(field, format string, args ...any) ([]map[string]any, *document.Error) {
		return nil, &document.Error{Location: object.Place(field), Message: fmt.Sprintf(format, args...)}
	}
	raw, has := fields["each"]
	entries, isList := raw.([]any)
	if has && (!isList || len(entries) == 0) {
		return fail(join(field, "each"), "each must be a list of objects, with one at least")
	}
	if p.cases += max(len(entries), 1); p.cases > maxCases {
		return fail(field, "the file has more than %d cases, with each expanded: split it", maxCases)
	}
	if !has {
		return []map[string]any{fields}, nil
	}
	template, _ := jsonvalue.Without(fields, "each")
	if p.values += countValues(template) * len(entries); p.values > p.limits.Values {
		return fail(join(field, "each"), "the cases of the file have more than %d values, with each expanded: split it", p.limits.Values)
	}
	var all []map[string]any
	for i, entry := range entries {
		values, ok := entry.(map[string]any)
		at := fmt.Sprintf("%s.each[%d]", field, i)
		if !ok {
			return fail(at, "each[%d] must be an object of names and values", i)
		}
		s := &substitution{values: values, parser: p}
		expanded, _ := s.replace(field, template).(map[string]any)
		if s.err != "" {
			return fail(s.at, "%s", s.err)
		}
		if name, ok := template["name"].(string); ok {
			expanded["name"] = expandedName(name, expanded["name"], values)
		}
		all = append(all, expanded)
	}
	return all, nil
}

// expandedName returns the name of the case that an entry of each makes. expanded is the name with variables replaced.
func expandedName(name string, expanded any, entry map[string]any) string {
	if variable.MatchString(name) {
		return text(expanded)
	}
	return fmt.Sprintf("%s (%s)", name, entryName(entry))
}

// countValues returns how many values a value holds, itself included.
func countValues(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, field := range value {
			n += countValues(field)
		}
	case []any:
		for _, item := range value {
			n += countValues(item)
		}
	}
	return n
}

// maxEntryName is how many characters of an entry are in the name of its case.
const maxEntryName = 100

// entryName returns an entry of each as the name of a case has it: a=1, b=2.
func entryName(values map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, name+"="+text(values[name]))
	}
	name := strings.Join(parts, ", ")
	if len(name) > maxEntryName {
		return fmt.Sprintf("%s... %x", strings.ToValidUTF8(name[:maxEntryName], ""), jsonvalue.Fingerprint(values))
	}
	return name
}

// text returns a value as a string has it.
func text(value any) string {
	if text, ok := value.(string); ok {
		return text
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(text)
}

// variable is ${NAME}. $${NAME} stands for itself without the first $.
var variable = regexp.MustCompile(`\$?\$\{([^{}]*)\}`)

// substitution replaces variables by the values of one entry. Parts without any are shared.
type substitution struct {
	values  map[string]any
	at, err string
	// parser counts what was replaced.
	parser *parser
}

func (s *substitution) replace(field string, value any) any {
	switch value := value.(type) {
	case string:
		return s.text(field, value)
	case map[string]any:
		next := make(map[string]any, len(value))
		for name, inner := range value {
			at := join(field, name)
			key := s.embedded(at, name)
			if _, twice := next[key]; twice {
				s.at, s.err = at, fmt.Sprintf("with each there are two fields %s", key)
			}
			next[key] = s.replace(at, inner)
		}
		return next
	case []any:
		next := make([]any, len(value))
		for i, item := range value {
			next[i] = s.replace(fmt.Sprintf("%s[%d]", field, i), item)
		}
		return next
	default:
		return value
	}
}

func (s *substitution) text(field, value string) any {
	if !strings.Contains(value, "${") {
		return value
	}
	p := s.parser
	if m := variable.FindString(value); m == value && !strings.HasPrefix(m, "$$") {
		if p.values > p.limits.Values {
			s.at, s.err = field, fmt.Sprintf("the cases of the file have more than %d values, with each expanded: split it", p.limits.Values)
			return nil
		}
		replaced := s.value(field, m)
		p.values += countValues(replaced) - 1
		return replaced
	}
	return s.embedded(field, value)
}

// embedded returns a text with its variables replaced.
func (s *substitution) embedded(field, value string) string {
	if !strings.Contains(value, "${") {
		return value
	}
	p := s.parser
	return variable.ReplaceAllStringFunc(value, func(m string) string {
		if strings.HasPrefix(m, "$$") {
			return m[1:]
		}
		if p.bytes > p.limits.Bytes {
			s.at, s.err = field, fmt.Sprintf("the strings of the file have more than %d KiB, with each expanded: split it", p.limits.Bytes>>10)
			return ""
		}
		replaced := text(s.value(field, m))
		p.bytes += len(replaced)
		return replaced
	})
}

func (s *substitution) value(field, name string) any {
	name = strings.TrimSuffix(strings.TrimPrefix(name, "${"), "}")
	value, known := s.values[name]
	if !known && (s.err == "" || field < s.at) {
		s.at = field
		s.err = fmt.Sprintf("${%s}: each has no %s here: it has %s. Write $${%s} for the text itself",
			name, name, strings.Join(slices.Sorted(maps.Keys(s.values)), ", "), name)
		if slices.Contains([]string{"y", "n", "yes", "no", "on", "off"}, strings.ToLower(name)) {
			s.err += ", and put the name into quotes in each: without, YAML reads it as true or false"
		}
	}
	return value
}
