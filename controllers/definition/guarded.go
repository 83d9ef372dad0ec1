package definition

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
	"github.com/libretto-k8s/libretto/scripts"
)

// guarded is the guard of a definition for the passes of one instance. It implements parent.DeletionGuard.
type guarded struct {
	*rollout.Guard
	spec string
}

// MayDelete returns why a pass must not delete a child, or nil.
func (g guarded) MayDelete(ctx context.Context, revision string, loss parent.Deletion) error {
	action := rollout.Delete
	if loss.Recreates {
		action = rollout.Recreate
	}
	return g.Guard.MayDelete(ctx, g.edit(revision), rollout.Deletion{
		Parent: loss.Parent, Child: loss.Child, ChildCreated: loss.ChildCreated, Action: action,
	})
}

// IsSettled reports whether what a parent has asked for is not the fault of a revision.
func (g guarded) IsSettled(revision string) bool { return g.Guard.IsSettled(g.edit(revision)) }

func (g guarded) edit(revision string) rollout.Edit {
	return rollout.Edit{SpecHash: g.spec, Revision: revision}
}

// guardFor returns the guard of a definition for an instance of a plan. All instances share one: what the edit of a spec deletes counts
// against the children that there were before it, whichever instance has made them.
func (r *Reconciler) guardFor(s *runtimeState, p *plan.Plan, changed func()) (guarded, error) {
	hash, err := p.SpecHash()
	return guarded{r.guardOf(s, changed), hash}, err
}

// guardOf returns the guard of a definition. Another definition of the same name, whose predecessor was not seen to go, has another one.
func (r *Reconciler) guardOf(s *runtimeState, changed func()) *rollout.Guard {
	if uid := s.object.GetUID(); s.guard == nil || s.limits.of != uid {
		stored := v1alpha1.StoredStatus(s.object).DeletionGuard
		key := apply.KeyOf(s.object)
		s.limits.of = uid
		s.guard = rollout.NewGuard(r.config.Environment.Clock, rollout.RecordOf(stored), s.countChildren,
			func(ctx context.Context, record rollout.Record) error { return r.storeGuard(ctx, key, s, uid, record) },
			s.guardLimits, changed)
	}
	return s.guard
}

// setDeletionLimits notes what bounds deletions if nothing was edited.
func (s *runtimeState) setDeletionLimits(object *unstructured.Unstructured) {
	s.limits.always.Store(plan.DeletionGuard(object))
}

// guardLimits returns what bounds deletions.
func (s *runtimeState) guardLimits() rollout.Limits {
	return rollout.Limits{Edit: s.limits.edits.Load(), Always: s.limits.always.Load(), Shards: s.shards.here.Count}
}

// countChildren counts the children of the instance that serves.
func (s *runtimeState) countChildren(counts rollout.CountsChild) rollout.ChildCounts {
	serving := s.serving.Load()
	if serving == nil {
		return rollout.ChildCounts{Children: map[schema.GroupKind]int{}}
	}
	children, parents := serving.reconciler.CountChildren(func(child *unstructured.Unstructured) bool {
		return counts(apply.KeyOf(child), child.GetCreationTimestamp().Time)
	})
	return rollout.ChildCounts{Children: children, Parents: parents}
}

// storeGuard writes a record into the status of a definition, beside whatever else that says. A host that may not, or a kind that has no
// status, keeps it in memory.
func (r *Reconciler) storeGuard(ctx context.Context, key controller.Key, s *runtimeState, uid types.UID, record rollout.Record) error {
	ctx = identity.WithAccount(ctx, identity.Account{}) // It is called by passes, which work as the definition's account.
	if s.shards.follows {
		return r.storeReportedGuard(ctx, key, s, record)
	}
	resource, err := r.resourceOf(key.Kind)
	if err != nil || !resource.HasStatus {
		return nil
	}
	definitions := r.config.Environment.Client.Resource(resource.GroupVersionResource).Namespace(key.Namespace)
	return patchGuard(ctx, definitions, key.Name, uid, record)
}

// patchGuard writes a record into the status of the definition that has the UID, if it is still there.
func patchGuard(ctx context.Context, definitions dynamic.ResourceInterface, name string, uid types.UID, record rollout.Record) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": uid},
		"status":   map[string]any{"deletionGuard": record.Status()},
	})
	if err != nil {
		return err
	}
	_, err = definitions.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// guardEdit tells the guard which edit serves, and which are approved.
func (r *Reconciler) guardEdit(object *unstructured.Unstructured, s *runtimeState) {
	i := s.running
	if i == nil {
		return
	}
	state := rollout.StoredState(object)
	complete := !s.isManaged(i, object) || state.UpdatedRevision == ""
	edit := i.guard.edit(string(i.hooks.Revision()))
	switch {
	case complete:
	case state.UpdatedEdit != nil:
		edit = rollout.Edit(*state.UpdatedEdit)
	default:
		edit.Revision = state.UpdatedRevision
	}
	if s.rollout != nil && s.rollout.Revision != "" && i.hooks.Tree != nil {
		if pinned, err := i.hooks.Tree.Revision(scripts.RevisionID(s.rollout.Revision)); err == nil {
			s.guard.Replace(edit, i.guard.edit(string(pinned.ID)))
		}
	}
	if hold := s.guard.Held(); s.isApproved(hold) {
		if s.guard.Approve(hold.Edit); hold.Message != "" { // So that parents delete now what they were not allowed to.
			i.reconciler.Resync(i.queue, r.config.ReloadSpread)
		}
	} else if edit != hold.Settled && s.isApproved(rollout.Hold{ID: edit.ID(hold.Settled), Edit: edit, Settled: hold.Settled}) {
		s.guard.Approve(edit)
	}
	s.guard.SetServing(edit, complete)
}

// isApproved reports whether what is held is named by an annotation, or was let through by name.
func (s *runtimeState) isApproved(hold rollout.Hold) bool {
	var sources []scripts.Object
	for _, i := range s.all() {
		tree := i.hooks.Tree
		if tree != nil {
			sources = append(sources, tree.Objects()...)
		}
		switch of := hold.Edit; {
		// An approval by which the preview of an edit let it through counts here too: nobody has to approve an edit twice.
		case !hold.IsOfEdit():
		case tree != nil:
			if loaded := tree.State(); loaded.Approved != "" && of == i.guard.edit(string(loaded.Loaded)) {
				return true
			}
		case of == i.guard.edit("") && i.hooks.WebhookPreview.IsApproved():
			return true
		}
	}
	return rollout.ApprovalOf(rollout.ApprovalsOf(s.object, s.rollout, sources), scripts.RevisionID(hold.ID)) != nil
}

// guardHold returns the ID of an edit that the guard holds and that can't be taken back, and why, with the way out, or nothing.
func (s *runtimeState) guardHold() (id, message string) {
	if s.guard == nil || s.running == nil || s.exceededBy(s.running) != (rollout.Exceeded{}) {
		return "", ""
	}
	hold := s.guard.Held()
	// What exceededBy returns is taken back by a rollout, which reports it. Here is what has no earlier revision to go back to.
	of, approve := hold.Edit, rollout.ApproveCommands(s.object, hold.ID[:16], "")
	switch {
	case hold.Message == "":
		return s.shards.hold()
	case of.SpecHash != s.running.guard.spec, of.Revision != "" && of.Revision != string(s.running.hooks.Revision()):
		return "", ""
	case hold.IsOfEdit():
		message = fmt.Sprintf("the edit %s is held: %s\nnothing else of it is held back; undo it, or let it through: %s",
			hold.ID[:16], hold.Message, approve)
	default:
		message = fmt.Sprintf("deletions that no edit and no parent has asked for are held: %s\nmend what the hooks were given, or let them through: %s",
			hold.Message, approve)
	}
	return hold.ID, message
}

// exceededBy returns the edit that the guard holds and that can be taken back, or nothing: one of the scripts, or of the definition while
// that is rolled out.
func (s *runtimeState) exceededBy(i *instance) rollout.Exceeded {
	if i == nil || s.guard == nil {
		return rollout.Exceeded{}
	}
	hold := s.guard.Held()
	over, before, state := hold.Edit, hold.Settled, rollout.StoredState(s.object)
	if elsewhere := s.shards.exceeded(&state); hold.Message == "" && elsewhere != (rollout.Exceeded{}) {
		return elsewhere
	}
	if hold.Message != "" && state.UpdatedEdit != nil && over == rollout.Edit(*state.UpdatedEdit) {
		return rollout.Exceeded{Revision: state.UpdatedRevision, Before: state.StableRevision, Message: hold.Message}
	}
	ofScripts := before.SpecHash == over.SpecHash && over.SpecHash == i.guard.spec && over.Revision != before.Revision
	if hold.Message == "" || i.hooks.Tree == nil || !ofScripts {
		return rollout.Exceeded{}
	}
	return rollout.Exceeded{Revision: over.Revision, Before: before.Revision, Message: hold.Message}
}
