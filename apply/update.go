package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// Merge returns what observed becomes when desired is applied to it, ready for
// an update: what the hook has no say in is as it was observed, and the annotation
// remembers desired. If nothing is to be written, it returns observed itself. It
// fails only if desired can't be written as JSON.
func Merge(observed, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return MergeAs(nil, observed, desired)
}

// MergeAs is Merge for objects of a kind whose schema is known, or nil.
func MergeAs(kind *openapi.Kind, observed, desired *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	merged, err := merge(kind, observed, desired)
	return merged.object, err
}

// merged is an object after a merge.
type merged struct {
	object *unstructured.Unstructured
	// differs says that more than the annotation is different from what was observed.
	differs bool
}

// merge is Merge that also says whether the difference is more than bookkeeping.
func merge(kind *openapi.Kind, observed, desired *unstructured.Unstructured) (merged, error) {
	want := managed(desired.Object)
	last, settled := recall(observed.Object, want)
	m := merger{settled: settled}
	out, differs := m.object(rootOf(kind), observed.Object, plain(last), plain(want))
	if !settled {
		var err error
		if out, err = remember(out, want); err != nil {
			return merged{}, err
		}
	}
	if !differs && annotation(out) == annotation(observed.Object) {
		return merged{object: observed}, nil
	}
	return merged{object: &unstructured.Unstructured{Object: out}, differs: differs}, nil
}

// rootOf gives the place of a whole object.
func rootOf(kind *openapi.Kind) place {
	if kind == nil {
		return place{}
	}
	return place{schema: kind.Root}
}
