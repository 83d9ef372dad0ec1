package health

import "github.com/libretto-k8s/libretto/runtime/controller"

// noteEdit notes by which edit a parent was synced last, and reports whether it has reached the one that serves, or
// lost it. The caller holds the lock.
func (s *States) noteEdit(key controller.Key, edit string) (changed bool) {
	_, behind := s.behind[key]
	if edit == s.serving {
		delete(s.behind, key)
		return behind
	}
	s.behind[key] = edit
	return !behind
}

// SetServing notes which edit serves. Parents may have been synced by it before.
func (s *States) SetServing(edit string, parents func() []controller.Key) {
	s.mu.Lock()
	before := s.serving
	s.mu.Unlock()
	if edit == before { // Only Serve changes it, and is not called twice at once.
		return
	}
	keys := parents()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serving = edit
	for _, key := range keys {
		switch by, behind := s.behind[key]; {
		case !behind:
			s.behind[key] = before
		case by == edit:
			delete(s.behind, key)
		}
	}
}
