package mapping

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// settled makes one desired state of what became of each group. What is wrong
// with one of them holds up none of the others.
func (v *Variant) mergeResults(observed variant.Observed, verdicts []*result) variant.Desired {
	desired := variant.Desired{Keep: map[apply.Key]bool{}}
	owners := ownersOf(verdicts)
	for _, g := range verdicts {
		if g.problem != nil {
			desired.Problems = append(desired.Problems, g.problem)
		}
		desired.InvalidAnswers = append(desired.InvalidAnswers, g.invalidAnswers...)
		maps.Copy(desired.Keep, g.kept)
		desired.ResyncAfterSeconds = sooner(desired.ResyncAfterSeconds, g.resync)
		for _, output := range g.wanted {
			if owner := owners[apply.KeyOf(output)]; owner == g {
				desired.Children = append(desired.Children, output)
			} else {
				desired.Problems = append(desired.Problems, g.conflict(output, owner))
			}
		}
	}
	v.keepUnlabelled(observed, &desired)
	desired.Status, desired.StatusMerged = v.status(observed, nil, len(desired.Problems) == 0), true
	return desired
}

// keepLost leaves alone the outputs of which nothing tells the input, and that no input
// wants, and tells of them: they may be those of an input whose hook has failed.
func (v *Variant) keepUnlabelled(observed variant.Observed, desired *variant.Desired) {
	wanted := keysOf(desired.Children)
	for _, output := range unlabelled(observed) {
		if key := apply.KeyOf(output); !wanted[key] {
			desired.Keep[key] = true
			desired.Problems = append(desired.Problems, fmt.Errorf("%s: %s has no label %s any more, so that nothing tells which input it was made of: "+
				"it is kept: put the label back, or delete the object", variant.ReasonMarkMissing, key, v1alpha1.MapKey))
		}
	}
}

// ownersOf decides to which group each output belongs: to the one that has it,
// as long as it wants or keeps it, and otherwise to the first that wants it.
func ownersOf(verdicts []*result) map[apply.Key]*result {
	owners := map[apply.Key]*result{}
	for _, g := range verdicts {
		for key := range g.kept {
			owners[key] = g
		}
		has := keysOf(g.outputs)
		for _, output := range g.wanted {
			if key := apply.KeyOf(output); has[key] {
				owners[key] = g
			}
		}
	}
	for _, g := range verdicts {
		for _, output := range g.wanted {
			if key := apply.KeyOf(output); owners[key] == nil {
				owners[key] = g
			}
		}
	}
	return owners
}

// contested says which two inputs want the same output.
func (v *result) conflict(output *unstructured.Unstructured, owner *result) error {
	return v.group.errorf(&engines.Error{Kind: engines.BadResponse, Message: fmt.Sprintf(
		"%s stays with input %s: name outputs such that no two inputs want the same one", apply.KeyOf(output), owner.key)})
}

// sooner gives the smaller of two times, of which 0 means never.
func sooner(a, b float64) float64 {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}
