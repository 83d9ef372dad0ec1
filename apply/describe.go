package apply

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// FieldDiff is a field that differs. From and To are for people: JSON, cut short if
// they are long, hidden if they are secret, and empty where there is no such field.
type FieldDiff struct {
	Path, From, To string
	found, left    uint64 // stand for values that From or To do not show in full
}

// String is one line: the path, what there was and what there is to be.
func (d FieldDiff) String() string {
	text := func(value string) string { return cmp.Or(value, "nothing") }
	return strings.TrimPrefix(d.Path+": "+text(d.From)+" becomes "+text(d.To), ": nothing becomes ")
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
)

// Describe tells people what a merge changes, ordered by path. The contents of a
// Secret are hidden, and bookkeeping is left out. If there are too many differences,
// the last entry says how many are missing, and has no path.
func Describe(observed, merged *unstructured.Unstructured) []FieldDiff {
	return describe(nil, observed, merged)
}

func describe(kind *openapi.Kind, observed, merged *unstructured.Unstructured) []FieldDiff {
	if observed == nil || merged == nil || observed == merged {
		return nil
	}
	d := description{secret: secret(merged.Object)}
	var root *openapi.Node
	if kind != nil {
		root = kind.Root
	}
	d.objects("", root, managed(observed.Object), managed(merged.Object))
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
func (d *description) values(path string, node *openapi.Node, from, to any) {
	switch f := from.(type) {
	case map[string]any:
		if t, ok := to.(map[string]any); ok {
			d.objects(path, node, f, t)
			return
		}
	case []any:
		if t, ok := to.([]any); ok {
			d.lists(path, node, f, t)
			return
		}
	}
	if !Equal(from, to) {
		d.add(path, node, from, to)
	}
}

func (d *description) objects(path string, node *openapi.Node, from, to map[string]any) {
	names := sets.KeySet(from).Union(sets.KeySet(to))
	for _, name := range slices.Sorted(maps.Keys(names)) {
		d.values(below(path, name), node.Field(name), from[name], to[name])
	}
}

// lists compares items that can be told apart by their names, and others by position.
func (d *description) lists(path string, node *openapi.Node, from, to []any) {
	p, ok := pair(from, to)
	if !ok {
		for i := range max(len(from), len(to)) {
			d.values(path+"["+strconv.Itoa(i)+"]", node.Item(), nth(from, i), nth(to, i))
		}
		return
	}
	for i, name := range p.observed.names {
		d.values(p.path(path, name), node.Item(), from[i], nth(to, p.desired.find(name)))
	}
	for i, name := range p.desired.names {
		if p.observed.find(name) < 0 {
			d.values(p.path(path, name), node.Item(), nil, to[i])
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
func (d *description) add(path string, node *openapi.Node, from, to any) {
	if len(d.diffs) == maxFieldDiffs {
		d.omitted++
		return
	}
	diff := FieldDiff{Path: path}
	if d.secret && confidential(path) {
		node = all
	}
	diff.From, diff.found = display(node, from)
	diff.To, diff.left = display(node, to)
	d.diffs = append(d.diffs, diff)
}
