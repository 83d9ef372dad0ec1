package conformance

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"
)

const expectedName = "expected.yaml"

// field is a field of an object with ordered fields.
type field struct {
	key   string
	value any
}

type fields []field

// textFields are the fields for which a case may expect a substring.
var textFields = []string{"message", "error", "later", "refused"}

// format writes outcomes as YAML.
func format(outcomes []fields) string {
	var b strings.Builder
	for _, outcome := range outcomes {
		writeItem(&b, "", outcome)
	}
	return b.String()
}

func writeItem(b *strings.Builder, indent string, item fields) {
	lead := indent + "- "
	for _, f := range item {
		b.WriteString(lead + f.key + ":")
		lead = indent + "  "
		writeValue(b, lead, f.value)
	}
}

func writeValue(b *strings.Builder, indent string, value any) {
	if items, ok := value.([]any); ok && len(items) > 0 {
		if _, ok := items[0].(fields); ok {
			b.WriteString("\n")
			for _, item := range items {
				writeItem(b, indent, item.(fields))
			}
			return
		}
	}
	switch text := encode(value); {
	case strings.Count(text, "\n") == 1 && !isCollection(value):
		b.WriteString(" " + text)
	default:
		b.WriteString("\n" + indented(text, indent+"  "))
	}
}

// isCollection reports whether a value is a map or list with entries, written on several lines.
func isCollection(value any) bool {
	v := reflect.ValueOf(value)
	return (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() > 0
}

// encode writes YAML, with long texts on one line.
func encode(value any) string {
	if text, ok := value.(string); ok && len(text) > 60 && !strings.Contains(text, "\n") {
		return strconv.Quote(text) + "\n"
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		panic(err) // It came out of JSON.
	}
	return string(text)
}

func indented(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(indent + line)
	}
	return b.String()
}

// decode reads outcomes as plain values for comparison.
func decode(text string) (any, error) {
	var value any
	err := yaml.Unmarshal([]byte(text), &value)
	return value, err
}

// diff returns the difference to the expected outcomes, or "".
func (c *testCase) diff(t *testing.T, got []fields) string {
	t.Helper()
	want, err := decode(c.part(expectedName))
	if err != nil {
		t.Fatalf("%s: %v", expectedName, err)
	}
	have, err := decode(address.ReplaceAllString(format(got), ""))
	if err != nil {
		t.Fatalf("the outcomes are not YAML: %v\n%s", err, format(got))
	}
	return cmp.Diff(want, keepExpectedParts(want, have, ""))
}

// address is the URL of the test's webhook server, whose port varies.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+: `)

// keepExpectedParts returns got with each text replaced by the expected substring.
func keepExpectedParts(want, got any, key string) any {
	switch g := got.(type) {
	case string:
		if w, ok := want.(string); ok && slices.Contains(textFields, key) && w != "" && strings.Contains(g, w) {
			return w
		}
	case []any:
		w, _ := want.([]any)
		for i := range min(len(w), len(g)) {
			g[i] = keepExpectedParts(w[i], g[i], "")
		}
	case map[string]any:
		w, _ := want.(map[string]any)
		for key := range g {
			g[key] = keepExpectedParts(w[key], g[key], key)
		}
	}
	return got
}

// rewrite writes the outcomes into the case's file. Expected substrings are kept.
func (c *testCase) rewrite(got []fields) error {
	want, err := decode(c.part(expectedName))
	if err != nil {
		return err
	}
	c.rewritten = true
	text := address.ReplaceAllString(format(keepParts(got, want)), "")
	i := slices.IndexFunc(c.archive.Files, func(f txtar.File) bool { return f.Name == expectedName })
	if i < 0 {
		i = len(c.archive.Files)
		c.archive.Files = append(c.archive.Files, txtar.File{Name: expectedName})
	}
	if string(c.archive.Files[i].Data) == text {
		return nil
	}
	c.archive.Files[i].Data = []byte(text)
	return os.WriteFile(c.file, txtar.Format(c.archive), 0o644)
}

// keepParts is keepExpectedParts for ordered fields.
func keepParts(got []fields, want any) []fields {
	expected, _ := want.([]any)
	kept := make([]fields, len(got))
	for i, outcome := range got {
		var w any
		if i < len(expected) {
			w = expected[i]
		}
		kept[i] = keepIn(outcome, w)
	}
	return kept
}

func keepIn(outcome fields, want any) fields {
	w, _ := want.(map[string]any)
	kept := slices.Clone(outcome)
	for i, f := range kept {
		if items, ok := f.value.([]any); ok {
			inner, _ := w[f.key].([]any)
			kept[i].value = keepItems(items, inner)
		} else if text, ok := f.value.(string); ok {
			kept[i].value = keepExpectedParts(w[f.key], text, f.key)
		}
	}
	return kept
}

func keepItems(items, want []any) []any {
	kept := slices.Clone(items)
	for i, item := range kept {
		if inner, ok := item.(fields); ok && i < len(want) {
			kept[i] = keepIn(inner, want[i])
		}
	}
	return kept
}
