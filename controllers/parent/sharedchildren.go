package parent

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// sharedChildren remembers children that another definition claims too, one for each such definition.
type sharedChildren struct {
	mu      sync.Mutex
	byOther map[string]sharedChild
}

// sharedChild is a child of a parent of two definitions.
type sharedChild struct{ parent, child *unstructured.Unstructured }

func newSharedChildren() *sharedChildren {
	return &sharedChildren{byOther: map[string]sharedChild{}}
}

// note remembers a child, and reports whether it is the first that is shared with a definition.
func (s *sharedChildren) note(other string, child sharedChild) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.byOther[other]
	s.byOther[other] = child
	return !known
}

// retain drops the definitions that keep returns false for, and returns the others.
func (s *sharedChildren) retain(keep func(other string, child sharedChild) bool) map[string]sharedChild {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byOther, func(other string, child sharedChild) bool { return !keep(other, child) })
	return maps.Clone(s.byOther)
}

// reportShared reports a written child that another definition of the process claims too.
func (p *pass) reportShared(change apply.Change) {
	if p.isRevision(change) {
		return
	}
	for _, other := range p.env.Registry.claimants(p.config.Definition, p.observed.Parent, change.Object) {
		if p.sharedChildren.note(other, sharedChild{p.observed.Parent, change.Object}) {
			p.config.Changed()
		}
		message := describeShared(p.config.Definition, other, "this object", change.Key)
		p.warn(p.key, p.parent, problem{reason: variant.ReasonSharedChildren, message: message})
	}
}

// describeShared returns the message about a child that two definitions claim.
func describeShared(own, other, parent string, child apply.Key) string {
	return fmt.Sprintf("%s and %s both claim %s for a child of %s: each deletes or changes what the other has written: %s",
		own, other, child, parent, separateKinds)
}

// SharedChildren returns a message for each other definition of the process that claims children of this one, sorted.
func (r *Reconciler) SharedChildren() (messages []string) {
	shared := r.sharedChildren.retain(func(other string, s sharedChild) bool {
		return slices.Contains(r.env.Registry.claimants(r.config.Definition, s.parent, s.child), other)
	})
	for _, other := range slices.Sorted(maps.Keys(shared)) {
		s := shared[other]
		messages = append(messages, describeShared(r.config.Definition, other, apply.KeyOf(s.parent).String(), apply.KeyOf(s.child)))
	}
	return messages
}
