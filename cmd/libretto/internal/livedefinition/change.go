package livedefinition

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// Change is what a command writes to a definition, and what it says of it.
type Change struct {
	// Patch is a merge patch. Nil means that the definition is as wanted.
	Patch map[string]any
	// Done is what was done, or is so already, and Notes what follows.
	Done  string
	Notes []string

	// withdraw is set if what is there has to be taken away first.
	withdraw bool
}

// Decide returns the change that is wanted of a definition as it is.
type Decide func(*Definition) (*Change, error)

// ParseID returns the ID of a revision, in full or its first digits, or an error.
func ParseID(text string) (string, error) {
	id := archive.ParseID(text)
	if id == "" {
		return "", fmt.Errorf("%q is no revision: write its 64 digits, or the first 16", text)
	}
	return id, nil
}

// Approve lets a revision through, or the one that is held or was rolled back if revision is empty. The reason is for people, and may be
// empty. It is an error if that is another one than it is in d, which is what the caller has seen.
func (c *Client) Approve(ctx context.Context, d *Definition, revision, reason string, dryRun DryRun) (*Change, error) {
	decide := approve(d, revision, reason)
	change, err := decide(d)
	if err == nil && change.withdraw && dryRun == DryRunNone {
		if d, err = c.withdraw(ctx, d); err != nil {
			return nil, err
		}
	}
	if err != nil {
		return nil, err
	}
	if change, err = c.Write(ctx, d, dryRun, decide); err != nil {
		return nil, c.explainApproval(ctx, d, err)
	}
	return change, nil
}

// approveVerb is that of the right to approve, which the admission policy in manifests/approval asks for.
const approveVerb = "approve"

// explainApproval names the rights that are missing if the API server has refused an approval.
func (c *Client) explainApproval(ctx context.Context, d *Definition, err error) error {
	resource := v1alpha1.DefinitionResource(d.Object.GroupVersionKind())
	right := &livecluster.ForbiddenError{Verb: approveVerb, Resource: resource.GroupResource()}
	if errors.As(err, new(*livecluster.ForbiddenError)) {
		return fmt.Errorf("%w\nwhere ValidatingAdmissionPolicy libretto-approve is applied, the verb %s too", err, approveVerb)
	}
	if !apierrors.IsForbidden(err) {
		return err
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: approveVerb, Group: resource.Group, Version: resource.Version, Resource: resource.Resource,
			Namespace: d.Object.GetNamespace(), Name: d.Object.GetName(),
		},
	}}
	review, failed := c.Kubernetes.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if failed != nil || review.Status.Allowed { // Something else refuses it, and says why.
		return err
	}
	return fmt.Errorf("%w; ClusterRole libretto-approve has it: an administrator can bind it to you", right)
}

// withdraw takes an approval away that was given before the revision failed, and waits until the host has seen that. A host takes only an
// approval that is newer than the failure.
func (c *Client) withdraw(ctx context.Context, d *Definition) (*Definition, error) {
	_, err := c.Write(ctx, d, DryRunNone, func(d *Definition) (*Change, error) {
		return &Change{Patch: d.approvalPatch(nil, "")}, nil
	})
	if err == nil {
		d, err = c.again(ctx, d)
	}
	if err != nil {
		return nil, err
	}
	id := d.rollout().ApprovedRevision
	err = c.Follow(ctx, d, func(now *Definition) (bool, error) {
		d = now
		return sameRevision(now.rollout().ApprovedRevision, id), nil
	})
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("%s: revision %s was approved before it failed; that approval has been taken away, and no host has seen this yet: "+
			"when one runs, approve it again: %w", d, shortID(id), context.Cause(ctx))
	}
	return d, err
}

// approvalPatch returns the patch that approves a revision, or takes the approval away if id is nil. No reason of an earlier approval
// stays.
func (d *Definition) approvalPatch(id any, reason string) map[string]any {
	annotations := map[string]any{v1alpha1.ApprovedRevisionAnnotation: id}
	if reason != "" {
		annotations[v1alpha1.ApprovalReasonAnnotation] = reason
	} else if d.Object.GetAnnotations()[v1alpha1.ApprovalReasonAnnotation] != "" {
		annotations[v1alpha1.ApprovalReasonAnnotation] = nil
	}
	return map[string]any{"metadata": map[string]any{"annotations": annotations}}
}

// approve decides on an approval. first is what the caller has seen.
func approve(first *Definition, revision, reason string) Decide {
	if id := archive.ParseID(revision); id != "" {
		revision = id
	}
	return func(d *Definition) (*Change, error) {
		id, err := d.toApprove(first, revision)
		if err != nil {
			return nil, err
		}
		change := &Change{
			Done: fmt.Sprintf("%s: %s is approved", d, d.nameOf(id)), Notes: d.afterApproval(id), Patch: d.approvalPatch(id, reason),
		}
		annotations := d.Object.GetAnnotations()
		annotated := sameRevision(archive.ParseID(annotations[v1alpha1.ApprovedRevisionAnnotation]), id)
		usedUp := sameRevision(d.rollout().ApprovedRevision, id) && d.rollout().HeldRevision == "" && d.awaiting() == id
		switch {
		case annotated && usedUp:
			change.withdraw = true
		case annotated && (reason == "" || reason == annotations[v1alpha1.ApprovalReasonAnnotation]):
			change.Patch = nil
			change.Done += " already"
		case usedUp:
			change.Notes = append(change.Notes,
				"if a ConfigMap of its scripts approves it too, take that away first: only an approval that is newer than the failure counts")
		}
		return change, nil
	}
}

// toApprove returns the ID of what is to be approved, in full if it is known.
func (d *Definition) toApprove(first *Definition, revision string) (string, error) {
	waits := d.awaiting()
	switch before := first.awaiting(); {
	case revision == "" && before == "":
		return "", fmt.Errorf("%s: nothing is held or rolled back: there is nothing to approve", d)
	case revision == "" && waits != before:
		return "", fmt.Errorf("%s: while this was written, revision %s took the place of %s: look at it with %s",
			d, orNone(waits), shortID(before), d.command("rollout status"))
	case revision == "" || sameRevision(revision, waits):
		return waits, nil
	}
	if _, err := ParseID(revision); err != nil {
		return "", err
	}
	if sameRevision(revision, d.serving()) {
		return "", fmt.Errorf("%s: revision %s serves already", d, shortID(revision))
	}
	return revision, nil
}

func orNone(id string) string {
	if id == "" {
		return "none"
	}
	return shortID(id)
}

// afterApproval returns what happens next to a revision that is approved.
func (d *Definition) afterApproval(id string) []string {
	var notes []string
	switch steps := len(d.Spec.ScriptRollout.Steps); {
	case !sameRevision(id, d.awaiting()):
		notes = append(notes, "it is not the one that waits: it takes over, whatever its preview says, once the scripts have that text")
	case steps > 0 && d.rollout().UpdatedRevision != id:
		notes = append(notes, fmt.Sprintf("it is rolled out now, beginning with step 1 of %d", steps+1))
	default:
		notes = append(notes, fmt.Sprintf("it takes over now, for all %d parents", ptr.Deref(d.Status.Parents, 0)))
	}
	if d.isPaused() {
		notes = append(notes, "not before the rollout goes on, as it is paused: "+d.command("rollout resume"))
	}
	if pin := d.Spec.ScriptRollout.Revision; pin != "" && !sameRevision(pin, id) {
		notes = append(notes, fmt.Sprintf("not while revision %s is pinned: %s --unpin", shortID(pin), d.command("rollback")))
	}
	return notes
}

// Pause sets whether parents stay at their revisions.
func Pause(paused bool) Decide {
	return func(d *Definition) (*Change, error) {
		switch {
		case d.isPaused() && paused:
			return &Change{Done: d.String() + ": not changed, as it is paused already"}, nil
		case !d.isPaused() && !paused:
			return &Change{Done: d.String() + ": not changed, as it is not paused"}, nil
		case paused:
			notes := append([]string{"no edit of its scripts begins, and no step ends"}, d.managerNotes()...)
			return &Change{Done: d.String() + ": paused", Patch: rolloutPatch("paused", true), Notes: notes}, nil
		}
		notes := append([]string{"edits of its scripts are rolled out again"}, d.managerNotes()...)
		return &Change{Done: d.String() + ": resumed", Patch: rolloutPatch("paused", nil), Notes: notes}, nil // Absent is false.
	}
}

func rolloutPatch(field string, value any) map[string]any {
	return map[string]any{"spec": map[string]any{"scriptRollout": map[string]any{field: value}}}
}

// Approving returns what is decided with an approval of a revision in the same write: without it a host would hold what that does.
func Approving(decide Decide, id string) Decide {
	return func(d *Definition) (*Change, error) {
		change, err := decide(d)
		if err == nil && change.Patch != nil {
			maps.Copy(change.Patch, d.approvalPatch(id, ""))
			change.Notes = append(change.Notes, fmt.Sprintf("revision %s is approved", shortID(id)))
		}
		return change, err
	}
}

// Pin makes an archived revision serve, whatever the scripts are. first is the definition that the revision was chosen for, and notes are
// why it was.
func Pin(first *Definition, id string, notes ...string) Decide {
	return func(d *Definition) (*Change, error) {
		if d.serving() != first.serving() {
			return nil, fmt.Errorf("%s: while this was written, revision %s took the place of %s: look at it with %s",
				d, orNone(d.serving()), orNone(first.serving()), d.command("history"))
		}
		change := &Change{Done: fmt.Sprintf("%s: rolled back to revision %s", d, shortID(id))}
		if pin := d.Spec.ScriptRollout.Revision; sameRevision(pin, id) {
			change.Done = fmt.Sprintf("%s: not changed, as revision %s is pinned already", d, shortID(id))
			return change, nil
		}
		change.Patch = rolloutPatch("revision", id)
		change.Notes = slices.Concat(notes, []string{
			"it serves all parents, whatever the scripts are, until it is unpinned; " + d.sourcesText(),
			"to go on: correct the scripts, then " + d.command("rollback") + " --unpin",
		}, d.managerNotes())
		return change, nil
	}
}

// Unpin lets the scripts serve again.
func Unpin(d *Definition) (*Change, error) {
	pin := d.Spec.ScriptRollout.Revision
	if pin == "" {
		return &Change{Done: d.String() + ": not changed, as no revision is pinned"}, nil
	}
	const next = "the newest scripts take over as an edit does; a text that has served before is not previewed again"
	change := &Change{
		Done: fmt.Sprintf("%s: revision %s is not pinned any more", d, shortID(pin)), Patch: rolloutPatch("revision", nil),
		Notes: append([]string{next}, d.managerNotes()...),
	}
	if sameRevision(archive.ParseID(d.Object.GetAnnotations()[v1alpha1.ApprovedRevisionAnnotation]), pin) { // It was approved as a pin.
		maps.Copy(change.Patch, d.approvalPatch(nil, ""))
	}
	return change, nil
}

// sourcesText returns where the scripts are, which a pin does not change.
func (d *Definition) sourcesText() string {
	var names []string
	for _, source := range d.Spec.ScriptSources {
		switch {
		case source.ConfigMap != nil:
			names = append(names, fmt.Sprintf("ConfigMap %s/%s", source.ConfigMap.Namespace, source.ConfigMap.Name))
		case source.Directory != nil:
			names = append(names, "the directory "+string(source.Directory.Path))
		case source.Flux != nil:
			names = append(names, fmt.Sprintf("%s %s/%s", source.Flux.Kind, source.Flux.Namespace, source.Flux.Name))
		}
	}
	switch {
	case len(names) == 0:
		return "the inline scripts stay as they are"
	case len(names) == 1:
		return names[0] + " stays as it is"
	case len(names) > maxManagers:
		names = append(names[:maxManagers], "others")
	}
	return strings.Join(names, ", ") + " stay as they are"
}

// maxManagers is how many managers are named.
const maxManagers = 3

// managerNotes names who else writes the spec: a GitOps tool brings it back to what its repository says.
func (d *Definition) managerNotes() []string {
	var managers []string
	for _, entry := range d.Object.GetManagedFields() {
		var fields map[string]json.RawMessage
		if entry.Subresource != "" || entry.Manager == FieldManager || entry.FieldsV1 == nil {
			continue
		}
		if err := json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields); err != nil {
			continue // The API server wrote it; without it a note has a name less.
		}
		if _, writesSpec := fields["f:spec"]; writesSpec && !slices.Contains(managers, entry.Manager) {
			managers = append(managers, entry.Manager)
		}
	}
	if len(managers) == 0 {
		return nil
	}
	slices.Sort(managers)
	if len(managers) > maxManagers {
		managers = append(managers[:maxManagers], "others")
	}
	who := strings.Join(managers, ", ")
	return []string{"the spec is also written by " + who + ": if that is a GitOps tool, change it in its repository too"}
}

// errNotArchived returns the error for a revision that is none of the history.
func errNotArchived(d *Definition, revision string) error {
	return fmt.Errorf("%s: revision %s is not archived: see %s", d, revision, d.command("history"))
}

// errNoneBefore is the error if there is nothing to roll back to.
var errNoneBefore = errors.New("no revision was archived before the one that serves: name one with --to-revision")
