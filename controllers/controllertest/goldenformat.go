package controllertest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// field is a field of an object with ordered fields.
type field struct {
	key   string
	value any
}

type fields []field

// textFields are the fields for which a golden file may have a part of the text.
var textFields = []string{"message", "error", "later", "refused"}

// formatOutcomes writes outcomes as YAML.
func formatOutcomes(outcomes []fields) string {
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
		b.WriteString("\n")
		for line := range strings.Lines(text) {
			b.WriteString(indent + "  " + line)
		}
	}
}

// longText is the length from which on a text is written in quotes, on one line.
const longText = 60

// encode writes YAML, with long texts on one line.
func encode(value any) string {
	if text, ok := value.(string); ok && len(text) > longText && !strings.Contains(text, "\n") {
		return strconv.Quote(text) + "\n"
	}
	return inlineYAML(value) + "\n"
}

// keepParts returns outcomes with each text replaced by the part of it that a golden file has.
func keepParts(got []fields, want []any) []fields {
	kept := make([]fields, len(got))
	for i, outcome := range got {
		kept[i] = keepIn(outcome, jsonvalue.AsObject(jsonvalue.At(want, i)))
	}
	return kept
}

func keepIn(outcome fields, want map[string]any) fields {
	kept := slices.Clone(outcome)
	for i, f := range kept {
		switch value := f.value.(type) {
		case []any:
			inner, _ := want[f.key].([]any)
			kept[i].value = keepItems(value, inner)
		case string:
			if part, ok := want[f.key].(string); ok && part != "" && slices.Contains(textFields, f.key) && strings.Contains(value, part) {
				kept[i].value = part
			}
		}
	}
	return kept
}

func keepItems(items, want []any) []any {
	kept := slices.Clone(items)
	for i, item := range kept {
		if inner, ok := item.(fields); ok {
			kept[i] = keepIn(inner, jsonvalue.AsObject(jsonvalue.At(want, i)))
		}
	}
	return kept
}

const (
	// maxDiffText is how many lines of a text are compared line by line.
	maxDiffText = 2000
	// diffContext is how many equal lines are shown around those that differ.
	diffContext = 3
)

// textDiff returns the lines in which two texts differ, with some around them.
func textDiff(want, got string) []string {
	a, b := splitLines(want), splitLines(got)
	if len(a) > maxDiffText || len(b) > maxDiffText {
		return []string{"  the texts are too long to be compared line by line"}
	}
	lines := mergeLines(a, b)
	var shown []string
	skipped := false
	for i, line := range lines {
		near := slices.ContainsFunc(lines[max(0, i-diffContext):min(len(lines), i+diffContext+1)], func(l string) bool { return l[0] != ' ' })
		if !near {
			skipped = true
			continue
		}
		if skipped {
			shown, skipped = append(shown, "  ..."), false
		}
		shown = append(shown, line)
	}
	return shown[:min(len(shown), maxDiffLines)]
}

func splitLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// mergeLines returns the lines of both, marked by whose they are, along a longest common subsequence.
func mergeLines(a, b []string) []string {
	common := make([][]uint16, len(a)+1)
	for i := range common {
		common[i] = make([]uint16, len(b)+1)
	}
	for i, lineA := range slices.Backward(a) {
		for j, lineB := range slices.Backward(b) {
			if lineA == lineB {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var lines []string
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			lines = append(lines, "  "+a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "- "+a[i])
			i++
		default:
			lines = append(lines, "+ "+b[j])
			j++
		}
	}
	return lines
}
