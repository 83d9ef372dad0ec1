package controllertest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// difference is a place at which a value is not as its wanted part says.
type difference struct {
	path      string
	want, got any
}

// differences returns where got is not as a part says. Fields that the part does not name do not matter, null means that a field is
// absent, lists are compared item by item, and numbers by value.
func differences(path string, want, got any) []difference {
	switch want := want.(type) {
	case map[string]any:
		fields, ok := got.(map[string]any)
		if !ok {
			break
		}
		var all []difference
		for _, name := range slices.Sorted(maps.Keys(want)) {
			all = append(all, differences(join(path, name), want[name], fields[name])...)
		}
		return all
	case []any:
		items, ok := got.([]any)
		if !ok || len(items) != len(want) {
			break
		}
		var all []difference
		for i := range want {
			all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), want[i], items[i])...)
		}
		return all
	case nil:
		if got == nil {
			return nil
		}
	default:
		if got != nil && jsonvalue.EqualScalars(want, got) {
			return nil
		}
	}
	return []difference{{path, want, got}}
}

// matches reports whether got is as a part says.
func matches(want, got any) bool { return len(differences("", want, got)) == 0 }

// String returns the difference as a part of a sentence.
func (d difference) String() string {
	path := strings.TrimPrefix(d.path, ".")
	if path == "" {
		path = "it"
	}
	want, got := inline(d.want), inline(d.got)
	if wanted, isList := d.want.([]any); isList {
		if items, ok := d.got.([]any); ok {
			hint := ""
			if len(items) > len(wanted) {
				hint = ": name all items of a list"
			}
			return fmt.Sprintf("%s has %d items, want %d%s", path, len(items), len(wanted), hint)
		}
	}
	switch {
	case d.want == nil:
		return fmt.Sprintf("%s is %s, want none", path, got)
	case d.got == nil:
		return fmt.Sprintf("%s is absent, want %s", path, want)
	default:
		return fmt.Sprintf("%s is %s, want %s", path, got, want)
	}
}

// maxInline is how many bytes of a value are in a sentence.
const maxInline = 200

func inline(value any) string {
	text, _, err := jsonvalue.Text(value, maxInline)
	if err != nil {
		return fmt.Sprint(value)
	}
	return text
}

// maxDiffLines is how many lines of a difference are shown.
const maxDiffLines = 100

// diffLines returns the lines of a part, and what is there in the place of those that differ.
func diffLines(want, got any) []string {
	w := &diffWriter{}
	w.value("", "", want, got)
	if len(w.lines) > maxDiffLines {
		more := len(w.lines) - maxDiffLines
		w.lines = append(w.lines[:maxDiffLines], fmt.Sprintf("  ... and %d more lines", more))
	}
	return w.lines
}

type diffWriter struct{ lines []string }

// value writes a value below a lead, which is the name of a field, or the dash of an item.
func (w *diffWriter) value(indent, lead string, want, got any) {
	if matches(want, got) {
		w.whole("  ", indent, lead, want)
		return
	}
	below := indent
	if lead != "" {
		below += "  "
	}
	switch want := want.(type) {
	case map[string]any:
		if fields, ok := got.(map[string]any); ok {
			w.lead(indent, lead)
			for _, name := range fieldNames(want) {
				w.value(below, name+":", want[name], fields[name])
			}
			return
		}
	case []any:
		if items, ok := got.([]any); ok {
			w.lead(indent, lead)
			w.items(below, want, items)
			return
		}
	}
	if want != nil {
		w.whole("- ", indent, lead, want)
	}
	if got != nil {
		w.whole("+ ", indent, lead, got)
	}
}

// maxSearched is how many items of a list are searched for one that is wanted.
const maxSearched = 100

// items writes the items of a list. A wanted item stands beside the next one that matches it, or else beside the next one.
func (w *diffWriter) items(indent string, want, got []any) {
	for _, item := range want {
		found := slices.IndexFunc(got[:min(len(got), maxSearched)], func(other any) bool { return matches(item, other) })
		if len(got) == 0 {
			w.whole("- ", indent, "-", item)
			continue
		}
		for _, other := range got[:max(found, 0)] {
			w.whole("+ ", indent, "-", other)
		}
		got = got[max(found, 0):]
		w.value(indent, "-", item, got[0])
		got = got[1:]
	}
	for _, other := range got {
		w.whole("+ ", indent, "-", other)
	}
}

func (w *diffWriter) lead(indent, lead string) {
	if lead != "" {
		w.lines = append(w.lines, "  "+indent+lead)
	}
}

// whole writes all of a value, each line with a mark.
func (w *diffWriter) whole(mark, indent, lead string, value any) {
	text := inlineYAML(value)
	lines := strings.Split(text, "\n")
	if len(lines) == 1 && !isCollection(value) {
		w.lines = append(w.lines, strings.TrimRight(mark+indent+strings.TrimSpace(lead+" "+lines[0]), " "))
		return
	}
	below := indent
	if lead != "" {
		w.lines = append(w.lines, mark+indent+lead)
		below += "  "
	}
	for _, line := range lines {
		w.lines = append(w.lines, mark+below+line)
	}
}

func inlineYAML(value any) string {
	text, err := yaml.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// isCollection reports whether a value is an object or a list that is not empty, which is written on lines of its own.
func isCollection(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) > 0
	case []any:
		return len(value) > 0
	default:
		return false
	}
}

// fieldNames returns the names of fields as people write them: what identifies an object comes first.
func fieldNames(fields map[string]any) []string {
	rank := func(name string) int {
		return slices.Index([]string{"status", "spec", "metadata", "kind", "apiVersion"}, name)
	}
	return slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		if ra, rb := rank(a), rank(b); ra != rb {
			return rb - ra
		}
		return strings.Compare(a, b)
	})
}
