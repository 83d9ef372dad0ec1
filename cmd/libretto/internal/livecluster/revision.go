package livecluster

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// Ran is which revision of a definition's scripts is run for a parent.
type Ran struct {
	// Revision is its ID, or empty if no hook is a script.
	Revision string
	// Why says why it is that one. It is empty if it is what the sources hold and serves all parents.
	Why string
	// Unlike is set if it is not the one that a host runs for the parent.
	Unlike bool
}

// fieldsOf decodes a field of a definition.
func fieldsOf(d *unstructured.Unstructured, field string, into any) error {
	fields, _ := d.Object[field].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into); err != nil {
		return fmt.Errorf("%s: %w", field, err)
	}
	return nil
}

// rolloutSpecOf returns how a definition rolls out edits, or nil if it does not say.
func rolloutSpecOf(d *unstructured.Unstructured) (*v1alpha1.ScriptRollout, error) {
	var spec struct {
		ScriptRollout *v1alpha1.ScriptRollout `json:"scriptRollout"`
	}
	err := fieldsOf(d, "spec", &spec)
	return spec.ScriptRollout, err
}

// rolloutOf returns how a definition rolls out edits, which may be nil, and its status.
func rolloutOf(d *unstructured.Unstructured) (set *v1alpha1.ScriptRollout, status v1alpha1.DefinitionStatus, err error) {
	set, err = rolloutSpecOf(d)
	err = errors.Join(fieldsOf(d, "status", &status), err)
	return set, status, err
}

// served returns the ID of the revision that a host runs for a parent, and why if that is not plain, by the status of the definition. A nil
// parent means those that have no edit yet. It is empty if no host has served it.
func served(d, object *unstructured.Unstructured) (id, why string, err error) {
	set, status, err := rolloutOf(d)
	if err != nil {
		return "", "", err
	}
	id = status.ScriptRevisionHash
	state := status.ScriptRollout
	if state == nil || state.StableRevision == "" || !rollout.IsManaged(set, state) {
		return id, "", nil
	}
	assignment := rollout.AssignmentOf(set, state)
	id = assignment.Stable
	switch {
	case assignment.Updated == "":
		if set != nil && set.Revision != "" {
			why = "spec.scriptRollout.revision pins it"
		}
		return id, why, nil
	case object == nil:
		return id, "", nil
	}
	step := fmt.Sprintf("step %d of %d of the rollout", ptr.Deref(state.Step, 1), ptr.Deref(state.Steps, 1))
	updated, what := assignment.Updated, "revision"
	if state.UpdatedEdit != nil {
		updated, what = state.UpdatedEdit.Revision, "edit of the definition"
	}
	if assignment.HasUpdated(rollout.MemberOf(object)) {
		return updated, step + " has the parent", nil
	}
	return id, fmt.Sprintf("%s to %s %s does not have the parent yet", step, what, scripts.RevisionID(assignment.Updated).Short()), nil
}

// ofParent returns a definition of the cluster with the revision of the scripts that a host runs for a parent. newest is the one with what
// the sources hold, and failed why that does not load, or nil. If the other one can't be had, it is the newest.
func (c *Config) ofParent(
	ctx context.Context, d *unstructured.Unstructured, newest *Subject, failed error, object *unstructured.Unstructured, in surroundings,
) (*Subject, Ran, error) {
	spec, err := newest.Plan.Scripts()
	if err != nil || len(spec.Hooks) == 0 {
		return newest, Ran{}, failed
	}
	id, why, err := served(d, object)
	newestID := string(newest.Revision)
	isNewest := newestID != "" && newestID == id
	switch {
	case err != nil:
		return nil, Ran{}, err
	case failed == nil && isNewest:
		return newest, Ran{Revision: newestID, Why: why}, nil
	case failed != nil && len(newest.Programs) > 0: // It is not for the scripts.
		return nil, Ran{}, failed
	case failed == nil && id == "":
		return newest, Ran{Revision: newestID, Why: "it is what the sources hold: no host has served a revision yet", Unlike: true}, nil
	case id == "":
		return nil, Ran{}, failed
	}
	if why == "" {
		why = c.whyNotNewest(d, newest, failed)
	}
	other, err := c.archived(ctx, d, id, in)
	switch {
	case ctx.Err() != nil:
		return nil, Ran{}, context.Cause(ctx)
	case err == nil:
		return other, Ran{Revision: string(other.Revision), Why: why}, nil
	case failed != nil:
		return nil, Ran{}, fmt.Errorf("%w; revision %s, which serves, can't be had either: %w", failed, scripts.RevisionID(id).Short(), err)
	}
	return newest, Ran{Revision: newestID, Unlike: true, Why: fmt.Sprintf(
		"it is what the sources hold: a host runs revision %s for this parent (%s), which can't be had here: %v",
		scripts.RevisionID(id).Short(), why, err)}, nil
}

// whyNotNewest returns why a revision serves that is not what the sources hold.
func (c *Config) whyNotNewest(d *unstructured.Unstructured, newest *Subject, failed error) string {
	var status v1alpha1.DefinitionStatus
	_ = fieldsOf(d, "status", &status) // served has read it.
	state := ptr.Deref(status.ScriptRollout, v1alpha1.ScriptRolloutStatus{})
	edit := "what the sources hold, revision " + newest.Revision.Short() + ","
	switch id := string(newest.Revision); {
	case failed != nil:
		return fmt.Sprintf("it serves, and what the sources hold does not load here: %v", failed)
	case state.HeldRevision != "" && id == status.ObservedScriptRevisionHash:
		return edit + " is held"
	case id == state.FailedRevision:
		return edit + " was taken back"
	default:
		return edit + " has not been taken up by a host"
	}
}
