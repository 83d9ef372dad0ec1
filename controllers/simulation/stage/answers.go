package stage

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// Answers are the last answers of the hooks about one parent, over all its passes.
type Answers struct {
	// Calls are the last calls, one for each hook and subject, in the order in which they were first made.
	Calls  []simulation.HookCall
	latest map[string]int
	// aims are the children that the last pass aimed at that called hooks.
	aims []*unstructured.Unstructured
	last simulation.Result
}

// Add adds a pass.
func (a *Answers) Add(result simulation.Result) {
	if a.latest == nil {
		a.latest = map[string]int{}
	}
	for _, call := range result.Calls {
		key := call.Hook + "/" + call.Subject
		if i, known := a.latest[key]; known {
			a.Calls[i] = call
			continue
		}
		a.latest[key] = len(a.Calls)
		a.Calls = append(a.Calls, call)
	}
	if result.Desired != nil {
		a.aims = result.Desired
	}
	a.last = result
}

// Unapplied returns the changes of children that the hooks want and that were not made: see render.Session.Unapplied. What differs only
// in what the API server does not store is not among them.
func (a *Answers) Unapplied(ctx context.Context, session *simulation.Session, parent *unstructured.Unstructured) ([]apply.Change, error) {
	changes, err := session.Unapplied(ctx, parent, a.Calls, a.aims)
	return slices.DeleteFunc(changes, func(change apply.Change) bool { return a.wasPruned(change.Key) }), err
}

// wasPruned reports whether fields were dropped when the last pass wrote an object.
func (a *Answers) wasPruned(key apply.Key) bool {
	return slices.ContainsFunc(a.last.Writes, func(w memcluster.Write) bool {
		return len(w.Dropped) > 0 && key == w.Key()
	})
}
