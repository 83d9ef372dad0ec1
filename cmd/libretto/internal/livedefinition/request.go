package livedefinition

import (
	"errors"
	"fmt"

	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// Request asks the host for an action in the present step of a rollout, which is one of those of v1alpha1.ScriptRolloutStatus.Request. It
// is an error if that is another step than it is in first, which is what the caller has seen.
func Request(first *Definition, action string) Decide {
	return func(d *Definition) (*Change, error) {
		if err := d.refuseRequest(action); err != nil {
			return nil, fmt.Errorf("%s: %w", d, err)
		}
		want := d.rollout().Request(action)
		if want != first.rollout().Request(action) {
			return nil, fmt.Errorf("%s: while this was written, the rollout went on: look at it with %s", d, d.command("rollout status"))
		}
		change := d.requested(action)
		if d.Object.GetAnnotations()[v1alpha1.RolloutRequestAnnotation] == want {
			change.Done += " already"
			return change, nil
		}
		change.Patch = map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.RolloutRequestAnnotation: want}}}
		return change, nil
	}
}

// requested returns what is said of a request.
func (d *Definition) requested(action string) *Change {
	r := d.rollout()
	id, step, steps := d.nameOf(r.UpdatedRevision), ptr.Deref(r.Step, 0), ptr.Deref(r.Steps, 0)
	change := &Change{Done: fmt.Sprintf("%s: %s is promoted past step %d of %d", d, id, step, steps)}
	stable := "revision " + shortID(r.StableRevision)
	if r.UpdatedEdit != nil && r.StableSpec != nil {
		stable = fmt.Sprintf("generation %d of the spec", r.StableSpec.Generation)
	}
	all := fmt.Sprintf("all %d parents get it now", ptr.Deref(d.Status.Parents, 0))
	switch {
	case action == v1alpha1.AbortRequest:
		change.Done = fmt.Sprintf("%s: %s is aborted at step %d of %d", d, id, step, steps)
		change.Notes = []string{
			fmt.Sprintf("all parents get %s back", stable),
			"it is not tried again before another edit has taken its place, or it is approved: " + d.command("rollout approve"),
		}
	case action == v1alpha1.PromoteFullRequest:
		change.Done = fmt.Sprintf("%s: %s is promoted past all %d steps", d, id, steps)
		change.Notes = []string{all}
	case step < steps:
		change.Notes = []string{fmt.Sprintf("step %d begins now, whatever step %d waits for; a parent that fails because of the edit counts as before",
			step+1, step)}
	default:
		change.Notes = []string{all}
	}
	return change
}

// refuseRequest returns why there is nothing to ask for, and what to do instead.
func (d *Definition) refuseRequest(action string) error {
	r := d.rollout()
	abort := action == v1alpha1.AbortRequest
	switch pin := d.Spec.ScriptRollout.Revision; {
	case pin != "":
		return fmt.Errorf("revision %s is pinned, and no edit is rolled out: %s --unpin", shortID(pin), d.command("rollback"))
	case r.UpdatedRevision == "" && r.HeldRevision != "" && !abort:
		return fmt.Errorf("%s is held before a parent has it: let it through with %s", d.nameOf(r.HeldRevision), d.command("rollout approve"))
	case r.UpdatedRevision == "" && abort:
		return fmt.Errorf("no edit is rolled out in steps: go back to what served before with %s", d.command("rollback"))
	case r.UpdatedRevision == "":
		return errors.New("no edit is rolled out in steps: there is nothing to promote")
	case r.Phase == v1alpha1.ScriptsHeld && !abort:
		return fmt.Errorf("%s does not go well: %s: let it through to all parents with %s",
			d.nameOf(r.UpdatedRevision), r.Message, d.command("rollout approve"))
	case d.isPaused() && !abort:
		return fmt.Errorf("it is paused: go on with %s first", d.command("rollout resume"))
	}
	return nil
}
