// Package fielddiff describes which fields of an object a change touches, without what is secret.
package fielddiff

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Diff is a field that differs. From and To are for people: JSON, cut short if
// they are long, hidden if they are secret, and empty where there is no such field.
type Diff struct{ Path, From, To string }

// String returns one line: the path, the value found and the value to be.
func (d Diff) String() string {
	text := func(value string) string { return cmp.Or(value, "nothing") }
	return strings.TrimPrefix(d.Path+": "+text(d.From)+" becomes "+text(d.To), ": nothing becomes ")
}

// Describe holds no more than this, whatever differs.
const (
	maxDiffs      = 32
	maxValueBytes = 160
)

// Describe returns what a merge changes, ordered by path. The contents of a Secret and what
// the schema, which may be nil, marks as secret are hidden, and bookkeeping is left out. If there
// are too many differences, the last entry is their number, and has no path.
func Describe(kind *openapi.Kind, observed, merged *unstructured.Unstructured) []Diff {
	d := description{kind: kind, secret: merged != nil && jsonvalue.IsSecret(merged.Object)}
	eachDifference(observed, merged, d.add)
	if d.omitted > 0 {
		d.diffs = append(d.diffs, Diff{To: fmt.Sprintf("and %d more", d.omitted)})
	}
	return d.diffs
}

// description is one call of Describe.
type description struct {
	kind    *openapi.Kind
	secret  bool // the object is a Secret
	diffs   []Diff
	omitted int
}

// add notes one difference.
func (d *description) add(path jsonvalue.Path, from, to any) {
	if len(d.diffs) == maxDiffs {
		d.omitted++
		return
	}
	d.diffs = append(d.diffs, Diff{Path: path.String(), From: d.display(path, from), To: d.display(path, to)})
}
