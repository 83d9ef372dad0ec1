package notices

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// SharedChildren remembers children that another definition claims too, one for each such definition.
type SharedChildren struct {
	mu      sync.Mutex
	byOther map[string]SharedChild
}

// SharedChild is a child of a parent of two definitions.
type SharedChild struct{ Parent, Child *unstructured.Unstructured }

// NewSharedChildren returns an empty record.
func NewSharedChildren() *SharedChildren {
	return &SharedChildren{byOther: map[string]SharedChild{}}
}

// Note remembers a child, and reports whether it is the first that is shared with a definition.
func (s *SharedChildren) Note(other string, child SharedChild) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.byOther[other]
	s.byOther[other] = child
	return !known
}

// Retain drops the definitions that keep returns false for, and returns the others.
func (s *SharedChildren) Retain(keep func(other string, child SharedChild) bool) map[string]SharedChild {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.byOther, func(other string, child SharedChild) bool { return !keep(other, child) })
	return maps.Clone(s.byOther)
}
