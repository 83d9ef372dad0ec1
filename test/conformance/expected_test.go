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

// field and fields are an object whose fields stay in order.
type field struct {
	key   string
	value any
}

type fields []field

// texts are the fields of which a case may expect a part.
var texts = []string{"message", "error", "later", "refused"}

// format writes outcomes down.
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

// isCollection says whether a value is written over several lines, unless it is empty.
func isCollection(value any) bool {
	v := reflect.ValueOf(value)
	return (v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.Len() > 0
}

// encode writes YAML, and texts on one line, however long.
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

// decode reads outcomes as plain values, to compare them.
func decode(text string) (any, error) {
	var value any
	err := yaml.Unmarshal([]byte(text), &value)
	return value, err
}

// differs compares, and gives "" if all is as expected.
func (c *testCase) differs(t *testing.T, got []fields) string {
	t.Helper()
	want, err := decode(c.part(expectedName))
	if err != nil {
		t.Fatalf("%s: %v", expectedName, err)
	}
	have, err := decode(address.ReplaceAllString(format(got), ""))
	if err != nil {
		t.Fatalf("what came of the case can't be written down: %v\n%s", err, format(got))
	}
	return cmp.Diff(want, shortened(want, have, ""))
}

// address is where the test's own server answers a webhook, which is at another port each time.
var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/\w+: `)

// shortened gives got with each text replaced by the part of it that is expected.
func shortened(want, got any, key string) any {
	switch g := got.(type) {
	case string:
		if w, ok := want.(string); ok && slices.Contains(texts, key) && w != "" && strings.Contains(g, w) {
			return w
		}
	case []any:
		w, _ := want.([]any)
		for i := range min(len(w), len(g)) {
			g[i] = shortened(w[i], g[i], "")
		}
	case map[string]any:
		w, _ := want.(map[string]any)
		for key := range g {
			g[key] = shortened(w[key], g[key], key)
		}
	}
	return got
}

// rewrite puts what came of the case into its file. Parts of texts stay parts.
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

// keepParts is shortened for what is in order.
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
			kept[i].value = shortened(w[f.key], text, f.key)
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
