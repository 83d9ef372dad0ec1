package fielddiff

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Mark stands for a Diff: hashes, of use in this process alone, of the path and of the values before and after. It costs a small part of
// what Describe makes for people, and takes the same memory whatever the values take.
type Mark struct{ Path, From, To uint64 }

// Undoes reports whether the field was found with another value than an earlier difference left it with, so that another writer has
// changed it in between.
func (m Mark) Undoes(earlier Mark) bool { return m.From != earlier.To }

// Marks returns a Mark for each Diff with a path that Describe returns, in the same order.
func Marks(observed, merged *unstructured.Unstructured) (marks []Mark) {
	eachDifference(observed, merged, func(path jsonvalue.Path, from, to any) {
		if len(marks) < maxDiffs {
			marks = append(marks, Mark{Path: jsonvalue.Hash(path.String()), From: jsonvalue.Hash(from), To: jsonvalue.Hash(to)})
		}
	})
	return marks
}

// eachDifference calls found for each place at which two objects differ, without bookkeeping, ordered by path.
func eachDifference(observed, merged *unstructured.Unstructured, found func(path jsonvalue.Path, from, to any)) {
	if observed == nil || merged == nil || observed == merged {
		return
	}
	jsonvalue.Differ{Match: merge.Pairs, Found: found}.Compare(merge.Managed(observed.Object), merge.Managed(merged.Object))
}
