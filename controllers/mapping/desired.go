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

// mergeResults makes one desired state of the results of all groups. A problem with one
// group does not hold up the others.
func (v *Variant) mergeResults(observed variant.Observed, results []*result) variant.Desired {
	desired := variant.Desired{Keep: map[apply.Key]bool{}}
	owners, failed := ownersOf(results), map[*result]bool{}
	for _, r := range results {
		if r.problem != nil {
			desired.Problems = append(desired.Problems, r.problem)
			failed[r] = r.input != nil
		}
		if r.waiting != nil {
			desired.WaitingInputs = append(desired.WaitingInputs, *r.waiting)
		}
		desired.Events, desired.MoreEvents = append(desired.Events, r.events...), desired.MoreEvents+r.moreEvents
		desired.InvalidAnswers = append(desired.InvalidAnswers, r.invalidAnswers...)
		maps.Copy(desired.Keep, r.kept)
		desired.ResyncAfterSeconds = variant.Earlier(desired.ResyncAfterSeconds, r.resync)
		for _, output := range r.wanted {
			if owner := owners[apply.KeyOf(output)]; owner == r {
				desired.Children = append(desired.Children, output)
			} else {
				desired.Problems = append(desired.Problems, r.conflict(output, owner))
				failed[r] = true
			}
		}
	}
	for _, is := range failed {
		if is {
			desired.FailedInputs++
		}
	}
	v.keepUnlabelled(observed, &desired)
	desired.Status, desired.StatusOrigin = v.status(observed, nil, len(desired.Problems) == 0), variant.StatusMerged
	v.countWaiting(desired.Status, results)
	return desired
}

// keepUnlabelled keeps the outputs whose input is unknown and that no input wants, and
// reports them: they may belong to an input whose hook has failed.
func (v *Variant) keepUnlabelled(observed variant.Observed, desired *variant.Desired) {
	wanted := variant.KeysOf(desired.Children)
	for _, output := range unlabelled(observed) {
		if key := apply.KeyOf(output); !wanted[key] {
			desired.Keep[key] = true
			desired.Problems = append(desired.Problems, variant.Lasting(fmt.Errorf("%s: %s has no label %s any more, so that nothing tells "+
				"which input it was made of: it is kept: put the label back, or delete the object", variant.ReasonMarkMissing, key, v1alpha1.MapKey)))
		}
	}
}

// ownersOf returns the group that each output belongs to: the one that has it, if that one
// still wants or keeps it, and otherwise the first that wants it.
func ownersOf(results []*result) map[apply.Key]*result {
	owners := map[apply.Key]*result{}
	for _, r := range results {
		for key := range r.kept {
			owners[key] = r
		}
		has := variant.KeysOf(r.outputs)
		for _, output := range r.wanted {
			if key := apply.KeyOf(output); has[key] {
				owners[key] = r
			}
		}
	}
	for _, r := range results {
		for _, output := range r.wanted {
			if key := apply.KeyOf(output); owners[key] == nil {
				owners[key] = r
			}
		}
	}
	return owners
}

// conflict returns the error of an input that wants the output of another one.
func (r *result) conflict(output *unstructured.Unstructured, owner *result) error {
	return r.group.wrap(&engines.Error{Kind: engines.BadResponse, Message: fmt.Sprintf(
		"%s stays with input %s: name outputs such that no two inputs want the same one", apply.KeyOf(output), owner.key)})
}
