package merge

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
)

// Result is an object after a merge.
type Result struct {
	// Object is the observed object itself if nothing is to be written.
	Object *unstructured.Unstructured
	// Differs reports that more than the annotation is different from what was observed.
	Differs bool
}

// Merge returns what observed becomes when desired is applied to it, ready for
// an update: what the hook has no say in is as it was observed, and the annotation
// remembers desired. The schema of the objects' kind may be nil. Merge
// fails only if desired can't be written as JSON.
func Merge(kind *openapi.Kind, observed, desired *unstructured.Unstructured) (Result, error) {
	want := Managed(desired.Object)
	last, settled := recall(observed.Object, want)
	m := merger{settled: settled}
	out, differs := m.object(rootOf(kind), observed.Object, AsStored(last), AsStored(want))
	if !settled {
		var err error
		if out, err = WithAnnotation(out, want); err != nil {
			return Result{}, err
		}
	}
	if !differs && Annotation(out) == Annotation(observed.Object) {
		return Result{Object: observed}, nil
	}
	return Result{Object: &unstructured.Unstructured{Object: out}, Differs: differs}, nil
}

// Keeps reports whether observed has all that an object asks for, with no more than defaults
// filled in.
func Keeps(observed any, object map[string]any) bool {
	_, differs := merger{settled: true}.value(place{}, observed, object, object)
	return !differs
}

// rootOf returns the place of a whole object.
func rootOf(kind *openapi.Kind) place {
	if kind == nil {
		return place{}
	}
	return place{schema: kind.Root}
}
