package render

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
)

// Action is what a host does with an object, or leaves undone.
type Action struct {
	// Action is create, update, recreate, delete, adopt, release, update status, leave or wait.
	Action string `json:"action"`
	// Object is the kind, namespace and name.
	Object string `json:"object"`
	// Fields are the fields that change, one line each.
	Fields []string `json:"fields,omitempty"`
	// Manifest is an object that is created.
	Manifest map[string]any `json:"manifest,omitempty"`
	// Dropped are fields that the API server does not store.
	Dropped []string `json:"dropped,omitempty"`
	// Reason is why an object is left as it is.
	Reason string `json:"reason,omitempty"`
	// Error is why the write failed.
	Error string `json:"error,omitempty"`
}

// The actions that are not named like the verb of the write.
const (
	actionAdopt    = "adopt"
	actionRelease  = "release"
	actionRecreate = "recreate"
	actionLeave    = "leave"
	actionWait     = "wait"
)

// actions returns the writes of a pass.
func (o Output) actions(r *Rendering, step simulation.Result) []Action {
	var all []Action
	for _, write := range step.Writes {
		all = append(all, o.action(r, step, write))
	}
	return all
}

func (o Output) action(r *Rendering, step simulation.Result, w memcluster.Write) Action {
	a := Action{Action: string(w.Verb), Object: w.Key().String(), Error: text(w.Err), Dropped: w.Dropped}
	after := w.After
	if w.Err != nil && w.Verb != memcluster.Patch {
		after = &unstructured.Unstructured{Object: w.Sent}
	}
	switch {
	case w.Verb == memcluster.Delete:
		if wants(step, w) {
			a.Action = actionRecreate
		}
	case w.Before != nil && w.After == nil && w.Err == nil:
		a.Action, a.Reason = string(memcluster.Update), "its last finalizer is removed, and with it the object"
	case w.Kind.Group == v1alpha1.GroupName, after == nil:
	case w.Before == nil:
		a.Action, a.Manifest = string(memcluster.Create), o.manifest(r, after)
	default:
		a.Action = strings.Replace(a.Action, string(memcluster.Patch), string(memcluster.Update), 1)
		a.Fields = describe(r, w.Before, after)
		if w.Verb == memcluster.UpdateStatus || w.Verb == memcluster.PatchStatus {
			a.Fields = r.diffLines(stage.StatusDiffs(r.schema(w.Kind), w.Before, after))
		}
		if change := ownership(w.Before, after); change != "" {
			a.Action = change
		}
	}
	return a
}

// ownership returns adopt or release if the controller of an object changes.
func ownership(before, after *unstructured.Unstructured) string {
	was, is := metav1.GetControllerOf(before), metav1.GetControllerOf(after)
	switch {
	case was == nil && is != nil:
		return actionAdopt
	case was != nil && is == nil:
		return actionRelease
	default:
		return ""
	}
}

// describe returns the fields that differ, one line each.
func describe(r *Rendering, before, after *unstructured.Unstructured) []string {
	return r.diffLines(fielddiff.Describe(r.schema(before.GroupVersionKind()), before, after))
}

// diffLines returns a line for each difference. What is secret is hidden in any case.
func (r *Rendering) diffLines(diffs []fielddiff.Diff) []string {
	var lines []string
	for _, diff := range diffs {
		lines = append(lines, diff.String())
	}
	return r.maskAll(lines)
}

// left returns the action for a child that is left as it is.
func (o Output) left(r *Rendering, l Left) Action {
	a := Action{
		Action: actionWait, Object: l.Key.String(), Fields: r.diffLines(l.Diffs()),
		Reason: "it differs from what the hook wants, and the next pass will look at it again",
	}
	switch {
	case l.Method == apply.OnDelete || l.Method == "":
		a.Action, a.Reason = actionLeave, "its updateStrategy is OnDelete, so that it changes only when it is deleted and made anew"
	case l.Observed.GetDeletionTimestamp() != nil:
		a.Reason = "it is being deleted"
	case l.Rolling:
		a.Reason = "it waits for its turn in the rollout"
	}
	return a
}

// wants reports whether an object is among those that a pass aimed at.
func wants(step simulation.Result, w memcluster.Write) bool {
	key := w.Key()
	return slices.ContainsFunc(step.Desired, func(object *unstructured.Unstructured) bool { return apply.KeyOf(object) == key })
}
