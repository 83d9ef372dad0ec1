package hooks

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/archive"
)

// assignment is which programs each parent gets while a rollout decides that. It never changes.
type assignment struct {
	rollout.Assignment
	stable, updated parent.Programs
	// loading is set while one of the revisions is being loaded, and problem why one can't be had, or empty.
	loading bool
	problem string
}

func (a *assignment) programsFor(object *unstructured.Unstructured) parent.Programs {
	if a.HasUpdated(rollout.MemberOf(object)) {
		return a.updated
	}
	return a.stable
}

// ProgramsFor returns the present programs for a parent, all of one revision.
func (h *Hooks) ProgramsFor(object *unstructured.Unstructured) parent.Programs {
	if a := h.assigned.Load(); a != nil {
		return a.programsFor(object)
	}
	return h.programs()
}

// isForOtherHooks reports whether a revision can't serve the definition, as it has scripts for other hooks.
func (h *Hooks) isForOtherHooks(id string) bool {
	if id == "" {
		return false
	}
	_, err := h.Tree.Revision(scripts.RevisionID(id))
	return errors.Is(err, scripts.ErrOtherHooks)
}

// differs reports whether a parent gets other programs.
func (a *assignment) differs(before *assignment, object *unstructured.Unstructured) bool {
	now, then := a.programsFor(object), before.programsFor(object)
	return now.Revision != then.Revision || (a.problem == "") != (before.problem == "") || a.loading != before.loading
}

// assignmentOf returns an assignment with its programs: before, if it has these already.
func (h *Hooks) assignmentOf(of rollout.Assignment, before *assignment) *assignment {
	a := &assignment{Assignment: of}
	a.stable = h.assignedPrograms(a, before, of.Stable)
	if of.Updated != "" {
		a.updated = h.updatedPrograms(a, before, of.Updated)
	}
	if before != nil && before.Equal(of) && before.loading == a.loading && before.problem == a.problem {
		return before
	}
	return a
}

// updatedPrograms returns the programs of the updated revision. If that is in the archive no more, the stable revision stands in for it:
// until the sources load, there is nothing else to sync its parents by.
func (h *Hooks) updatedPrograms(a, before *assignment, id string) parent.Programs {
	_, err := h.Tree.Revision(scripts.RevisionID(id))
	if !errors.Is(err, archive.ErrNone) || a.problem != "" || a.loading {
		return h.assignedPrograms(a, before, id)
	}
	a.problem = fmt.Sprintf("%v\nrevision %s serves its parents in its place", err, scripts.RevisionID(a.stable.Revision).Short())
	return a.stable
}

// assignedPrograms returns the programs of a revision. If it can't be had, they fail with the reason, and parents keep their children.
func (h *Hooks) assignedPrograms(a, before *assignment, id string) parent.Programs {
	revision, err := h.Tree.Revision(scripts.RevisionID(id))
	switch {
	case err == nil:
		if before != nil {
			// Parents that keep their programs are not synced because others get new ones. What stands in for programs that can't be had
			// has the ID of their revision too, and is not taken.
			for _, known := range []parent.Programs{before.stable, before.updated} {
				if known.Revision == string(revision.ID) && before.problem == "" && !before.loading {
					return known
				}
			}
		}
		return parent.Programs{Revision: string(revision.ID), ByHook: h.byHook(revision.Programs), Edit: revision.Edit}
	case errors.Is(err, scripts.ErrLoading):
		a.loading = true
	default:
		a.problem = err.Error()
	}
	// A parent of the other revision must go on: only the calls of these parents fail, and each says why.
	missing := map[string]engines.Program{}
	for _, name := range h.scripts {
		missing[name] = unavailable{err: err}
	}
	return parent.Programs{Revision: id, ByHook: h.byHook(missing)}
}

// unavailable is a script of a revision that can't be had.
type unavailable struct {
	engines.ProgramBase
	err error
}

// Run returns the reason.
func (u unavailable) Run(context.Context, engines.Call) (engines.Response, error) {
	return engines.Response{}, &engines.Error{Kind: engines.Failed, Message: u.err.Error(), Err: u.err}
}

// ServingRevision returns the revision that an edit is compared with: the stable one, if there is one.
func (h *Hooks) ServingRevision() *scripts.Revision {
	if a := h.assigned.Load(); a != nil {
		if stable, err := h.Tree.Revision(scripts.RevisionID(a.Stable)); err == nil {
			return stable
		}
	}
	return h.Tree.Current()
}

// Assign makes parents get the scripts that a rollout assigns to them, or the newest ones if none is managed. It returns which parents get
// others than before, or nil if none does, or all do.
func (h *Hooks) Assign(of rollout.Assignment, managed bool) (moves func(*unstructured.Unstructured) bool) {
	before := h.assigned.Load()
	h.Unassigned = managed && (of.Stable == "" || h.isForOtherHooks(of.Stable))
	if h.Unassigned && h.follows && before != nil {
		return nil // What it served it serves, until it is known what is to serve instead.
	}
	if !managed || h.Unassigned {
		h.assigned.Store(nil) // Of a running instance, all parents are synced: its inputs are others.
		return nil
	}
	now := h.assignmentOf(of, before)
	h.assigned.Store(now)
	if before == nil || now == before {
		return nil
	}
	return func(object *unstructured.Unstructured) bool { return now.differs(before, object) }
}

// IsAssigned reports whether a rollout decides which scripts serve.
func (h *Hooks) IsAssigned() bool { return h.assigned.Load() != nil }

// Problem returns why an assigned revision can't be had, or "".
func (h *Hooks) Problem() string {
	if a := h.assigned.Load(); a != nil {
		return a.problem
	}
	return ""
}
