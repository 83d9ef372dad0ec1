package parent

import "github.com/libretto-k8s/libretto/runtime/controller"

// noteRevision notes by which revision of the scripts a parent was synced last, and reports whether it has reached the one that serves, or
// lost it. The caller holds the lock.
func (s *syncStates) noteRevision(key controller.Key, revision string) (changed bool) {
	_, behind := s.behind[key]
	if revision == s.serving {
		delete(s.behind, key)
		return behind
	}
	s.behind[key] = revision
	return !behind
}

// serve notes which revision of the scripts serves. Parents may have been synced by it before.
func (s *syncStates) serve(revision string, parents func() []controller.Key) {
	s.mu.Lock()
	before := s.serving
	s.mu.Unlock()
	if revision == before { // Only serve changes it, and is not called twice at once.
		return
	}
	keys := parents()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = revision
	for _, key := range keys {
		switch by, behind := s.behind[key]; {
		case !behind:
			s.behind[key] = before
		case by == revision:
			delete(s.behind, key)
		}
	}
}
