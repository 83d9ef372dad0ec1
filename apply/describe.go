package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
)

// FieldDiff is a field that differs. From and To are JSON, cut short if they are
// long, and empty where there is no such field.
type FieldDiff struct{ Path, From, To string }

// Describe holds no more than this, whatever differs.
const (
	maxFieldDiffs = 32
	maxValueBytes = 160
	hidden        = "(hidden)"
)

// Describe tells people what a merge changes, ordered by path. The contents of a
// Secret are hidden, and bookkeeping is left out. If there are too many differences,
// the last entry says how many are missing, and has no path.
func Describe(observed, merged *unstructured.Unstructured) []FieldDiff {
	if observed == nil || merged == nil || observed == merged {
		return nil
	}
	d := description{secret: secret(merged.Object)}
	d.objects("", managed(observed.Object), managed(merged.Object))
	if d.omitted > 0 {
		d.diffs = append(d.diffs, FieldDiff{To: fmt.Sprintf("and %d more", d.omitted)})
	}
	return d.diffs
}

// description is one call of Describe.
type description struct {
	secret  bool
	diffs   []FieldDiff
	omitted int
}

// values adds the differences of two values at a path.
func (d *description) values(path string, from, to any) {
	switch f := from.(type) {
	case map[string]any:
		if t, ok := to.(map[string]any); ok {
			d.objects(path, f, t)
			return
		}
	case []any:
		if t, ok := to.([]any); ok {
			d.lists(path, f, t)
			return
		}
	}
	if !Equal(from, to) {
		d.add(path, from, to)
	}
}

func (d *description) objects(path string, from, to map[string]any) {
	names := sets.KeySet(from).Union(sets.KeySet(to))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.values(below(path, name), from[name], to[name])
	}
}

// lists compares items that can be told apart by their names, and others by position.
func (d *description) lists(path string, from, to []any) {
	p, ok := pair(from, to)
	if !ok {
		for i := range max(len(from), len(to)) {
			d.values(path+"["+strconv.Itoa(i)+"]", nth(from, i), nth(to, i))
		}
		return
	}
	for i, name := range p.observed.names {
		d.values(p.path(path, name), from[i], nth(to, p.desired.find(name)))
	}
	for i, name := range p.desired.names {
		if p.observed.find(name) < 0 {
			d.values(p.path(path, name), nil, to[i])
		}
	}
}

// path names an item, as in ports[port=53,protocol=UDP].
func (p pairing) path(list, name string) string {
	parts := strings.Split(name, separator)
	for i := range parts {
		parts[i] = p.desired.key.fields[i] + "=" + parts[i]
	}
	return list + "[" + strings.Join(parts, ",") + "]"
}

// nth returns the item at a position, or nil if there is none.
func nth(list []any, i int) any {
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

// below returns the path of a field.
func below(path, name string) string {
	if strings.ContainsAny(name, ".[]/ ") || name == "" {
		return path + "[" + strconv.Quote(name) + "]"
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// add notes one difference.
func (d *description) add(path string, from, to any) {
	if len(d.diffs) == maxFieldDiffs {
		d.omitted++
		return
	}
	diff := FieldDiff{Path: path, From: brief(from), To: brief(to)}
	if d.secret && confidential(path) {
		diff.From, diff.To = hide(from), hide(to)
	}
	d.diffs = append(d.diffs, diff)
}

// confidential reports whether a path leads into the contents of a Secret, or to
// the annotations, where kubectl keeps a copy of them.
func confidential(path string) bool {
	return path == "metadata" || strings.HasPrefix(path, "metadata.annotations") ||
		strings.HasPrefix(path, "data") || strings.HasPrefix(path, "stringData")
}

func hide(v any) string {
	if v == nil {
		return ""
	}
	return hidden
}

// brief writes a value in no more than maxValueBytes, and a mark if it was cut.
func brief(v any) string {
	if v == nil {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("(%T)", v)
	}
	if len(text) <= maxValueBytes {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:maxValueBytes]), "") + "..."
}
