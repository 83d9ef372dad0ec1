package hooks

import (
	"errors"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// ProgramsOf returns the programs with the scripts of another revision, for children that were made by it. Webhooks have no revisions.
func (h *Hooks) ProgramsOf(id string) (parent.Programs, error) {
	revision, err := h.oldRevision(scripts.RevisionID(id))
	if err != nil {
		return parent.Programs{}, err
	}
	return parent.Programs{Revision: id, ByHook: h.byHook(revision.Programs)}, nil
}

// oldRevision returns a revision of the scripts. The error is ErrProgramsLoading while it is being loaded.
func (h *Hooks) oldRevision(id scripts.RevisionID) (*scripts.Revision, error) {
	if h.Tree == nil {
		return nil, errors.New("no hook is a script any more")
	}
	revision, err := h.Tree.Revision(id)
	if errors.Is(err, scripts.ErrLoading) {
		return nil, parent.ErrProgramsLoading
	}
	return revision, err
}

// ScriptsBeside returns the function for scripts by which children were made: of the revisions that are at hand, which may be nil, or
// others.
func (h *Hooks) ScriptsBeside(atHand ...*scripts.Revision) ProgramsFunc {
	return func(id scripts.RevisionID) (map[string]engines.Program, error) {
		for _, revision := range atHand {
			if revision != nil && revision.ID == id {
				return revision.Programs, nil
			}
		}
		revision, err := h.oldRevision(id)
		if err != nil {
			return nil, err
		}
		return revision.Programs, nil
	}
}

// ProgramsFunc returns the scripts of a revision, by hook, or why they can't be had now.
type ProgramsFunc func(revision scripts.RevisionID) (map[string]engines.Program, error)
