package parent

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// returnedStatuses knows of each parent the status that it had when the hooks had returned that, by hashes: there may be many parents. Kept
// in memory: after a start nobody knows who wrote a status, and one that no hook has returned since is left alone.
type returnedStatuses struct {
	seed     maphash.Seed
	mu       sync.Mutex
	byParent map[uint64]uint64
}

func newReturnedStatuses() *returnedStatuses {
	return &returnedStatuses{seed: maphash.MakeSeed(), byParent: map[uint64]uint64{}}
}

// note notes that the hooks have returned the status that a parent has.
func (s *returnedStatuses) note(key controller.Key, parent *unstructured.Unstructured) {
	status := s.hashStatus(parent)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byParent[maphash.Comparable(s.seed, key)] = status
}

// has reports whether a parent still has the status that the hooks returned last.
func (s *returnedStatuses) has(key controller.Key, parent *unstructured.Unstructured) bool {
	status := s.hashStatus(parent)
	s.mu.Lock()
	defer s.mu.Unlock()
	returned, ok := s.byParent[maphash.Comparable(s.seed, key)]
	return ok && returned == status
}

func (s *returnedStatuses) forget(key controller.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byParent, maphash.Comparable(s.seed, key))
}

func (s *returnedStatuses) hashStatus(parent *unstructured.Unstructured) uint64 {
	return maphash.Comparable(s.seed, struct {
		uid    types.UID
		status uint64
	}{parent.GetUID(), jsonvalue.Hash(statusOf(parent))})
}

// noteReturned notes that the parent has the status that was desired.
func (p *pass) noteReturned(origin variant.StatusOrigin) {
	if origin == variant.StatusReturned && !p.config.StatusWithObject {
		p.returnedStatuses.note(p.key, p.parent)
	}
}

// mayReplace reports whether the status of a parent may be replaced. One that no hook has returned must not remove what another writer may
// have written: another definition, which this process may not know yet, or anybody else.
func (p *pass) mayReplace(parent *unstructured.Unstructured, status map[string]any, origin variant.StatusOrigin) bool {
	return origin != variant.StatusImplied || keepsFields(statusOf(parent), status) || p.returnedStatuses.has(p.key, parent)
}

// keepsFields reports whether a status has all fields, and types of conditions, of the one before.
func keepsFields(before, after map[string]any) bool {
	for field := range before {
		if _, ok := after[field]; !ok {
			return false
		}
	}
	types := conditionTypes(after)
	for name := range conditionTypes(before) {
		if !types[name] {
			return false
		}
	}
	return true
}

func conditionTypes(status map[string]any) map[any]bool {
	conditions, _ := status["conditions"].([]any)
	types := make(map[any]bool, len(conditions))
	for _, condition := range conditions {
		fields, _ := condition.(map[string]any)
		name, _ := fields["type"].(string)
		types[name] = true
	}
	return types
}
