package apply

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
)

// FieldDiff is a field that differs. From and To are for people: JSON, cut short if
// they are long, hidden if they are secret, and empty where there is no such field.
type FieldDiff struct {
	Path, From, To string
	found, left    uint64 // stand for values that From or To do not show in full
}

// Undoes reports whether the field was found with another value than an earlier
// difference left it with: whether somebody else has changed it in between.
func (d FieldDiff) Undoes(earlier FieldDiff) bool {
	return d.From != earlier.To || d.found != earlier.left
}

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
	diff := FieldDiff{Path: path}
	secret := d.secret && confidential(path)
	diff.From, diff.found = show(from, secret)
	diff.To, diff.left = show(to, secret)
	d.diffs = append(d.diffs, diff)
}

// seed makes the numbers that stand for values useless to anybody but this process.
var seed = maphash.MakeSeed()

// show writes a value for people, in no more than maxValueBytes and a mark if it was
// cut. If that is not all of it, a number stands for the whole.
func show(v any, secret bool) (text string, whole uint64) {
	if v == nil {
		return "", 0
	}
	document, err := json.Marshal(v)
	switch {
	case err != nil:
		return fmt.Sprintf("(%T)", v), 0
	case secret:
		return hidden, maphash.Bytes(seed, document)
	case len(document) <= maxValueBytes:
		return string(document), 0
	default:
		return strings.ToValidUTF8(string(document[:maxValueBytes]), "") + "...", maphash.Bytes(seed, document)
	}
}

// confidential reports whether a path leads into the contents of a Secret, or to
// the annotations, where kubectl keeps a copy of them.
func confidential(path string) bool {
	return path == "metadata" || strings.HasPrefix(path, "metadata.annotations") ||
		strings.HasPrefix(path, "data") || strings.HasPrefix(path, "stringData")
}
