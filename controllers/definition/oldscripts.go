package definition

import (
	"errors"
	"slices"
	"sync/atomic"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// programsOf returns the programs with the scripts of another revision, for children that were made by it. Webhooks have no revisions.
func (h *hooks) programsOf(id string) (parent.Programs, error) {
	revision, err := h.oldRevision(scripts.RevisionID(id))
	if err != nil {
		return parent.Programs{}, err
	}
	return parent.Programs{Revision: id, ByHook: h.byHook(revision.Programs)}, nil
}

// oldRevision returns a revision of the scripts. The error is ErrProgramsLoading while it is being loaded.
func (h *hooks) oldRevision(id scripts.RevisionID) (*scripts.Revision, error) {
	if h.tree == nil {
		return nil, errors.New("no hook is a script any more")
	}
	revision, err := h.tree.Revision(id)
	if errors.Is(err, scripts.ErrLoading) {
		return nil, parent.ErrProgramsLoading
	}
	return revision, err
}

// scriptsBeside returns the function for scripts by which children were made: of the revisions that are at hand, which may be nil, or others.
func (h *hooks) scriptsBeside(atHand ...*scripts.Revision) ProgramsFunc {
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

// revisionsInUse are the revisions of the scripts that the status names, and those by which children of an instance were made. The
// instance does not exist yet: self is set to it.
type revisionsInUse struct {
	state *runtimeState
	self  *atomic.Pointer[instance]
}

// ids returns those that are known.
func (c revisionsInUse) ids() []scripts.RevisionID {
	ids := slices.Clone(c.state.retainedRevisions())
	ofChildren, _ := c.ofChildren()
	for _, id := range ofChildren {
		ids = append(ids, scripts.RevisionID(id))
	}
	return ids
}

// known reports whether all are known.
func (c revisionsInUse) known() bool {
	_, known := c.ofChildren()
	return known
}

func (c revisionsInUse) ofChildren() ([]string, bool) {
	own := c.self.Load()
	if own == nil {
		return nil, false
	}
	return own.reconciler.ScriptRevisions()
}
