package rollout

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// ServedRevision returns the ID of the scripts that a status says served last, or "".
func ServedRevision(status v1alpha1.DefinitionStatus) scripts.RevisionID {
	return scripts.RevisionID(status.ScriptRevisionHash)
}

// HeldRevision returns the ID of the edit that a status says is held, or "".
func HeldRevision(status v1alpha1.DefinitionStatus) scripts.RevisionID {
	if status.ScriptRollout == nil {
		return ""
	}
	return scripts.RevisionID(status.ScriptRollout.HeldRevision)
}

// StoredState returns the state of a rollout that a definition has. What serves is the stable revision of one that had no steps before.
func StoredState(object *unstructured.Unstructured) State {
	stored := v1alpha1.StoredStatus(object)
	var state State
	if stored.ScriptRollout != nil {
		state = *stored.ScriptRollout
	}
	if state.StableRevision == "" {
		state.StableRevision = stored.ScriptRevisionHash
	}
	return state
}

// NamedRevisions returns the revisions that a status names as in use, or as what a rollback goes back to. Some may be empty.
func NamedRevisions(status v1alpha1.DefinitionStatus) []string {
	named := []string{string(ServedRevision(status)), status.PreviousScriptRevisionHash}
	if state := status.ScriptRollout; state != nil {
		named = append(named, state.StableRevision, state.UpdatedRevision)
		if state.UpdatedEdit != nil {
			named = append(named, state.UpdatedEdit.Revision)
		}
	}
	if guard := status.DeletionGuard; guard != nil { // It goes back to what has settled, over several edits.
		named = append(named, guard.Settled.Revision, guard.Edit.Revision)
	}
	return named
}
