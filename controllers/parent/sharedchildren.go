package parent

import (
	"fmt"
	"maps"
	"slices"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// reportShared reports a written child that another definition of the process claims too.
func (p *pass) reportShared(change apply.Change) {
	if p.isRevision(change) {
		return
	}
	for _, other := range p.env.Registry.claimants(p.config.Definition, p.observed.Parent, change.Object) {
		if p.sharedChildren.Note(other, notices.SharedChild{Parent: p.observed.Parent, Child: change.Object}) {
			p.config.Changed()
		}
		message := describeShared(p.config.Definition, other, "this object", change.Key)
		p.warn(p.key, p.parent, notices.Problem{Reason: variant.ReasonSharedChildren, Message: message})
	}
}

// describeShared returns the message about a child that two definitions claim.
func describeShared(own, other, parent string, child apply.Key) string {
	return fmt.Sprintf("%s and %s both claim %s for a child of %s: each deletes or changes what the other has written: %s",
		own, other, child, parent, separateKinds)
}

// SharedChildren returns a message for each other definition of the process that claims children of this one, sorted.
func (r *Reconciler) SharedChildren() (messages []string) {
	shared := r.sharedChildren.Retain(func(other string, s notices.SharedChild) bool {
		return slices.Contains(r.env.Registry.claimants(r.config.Definition, s.Parent, s.Child), other)
	})
	for _, other := range slices.Sorted(maps.Keys(shared)) {
		s := shared[other]
		messages = append(messages, describeShared(r.config.Definition, other, apply.KeyOf(s.Parent).String(), apply.KeyOf(s.Child)))
	}
	return messages
}
