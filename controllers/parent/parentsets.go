package parent

import "github.com/libretto-k8s/libretto/runtime/controller"

// parentSets maps each of several things to a set of parents, such as those that wait for it.
type parentSets[T comparable] map[T]map[controller.Key]bool

func (s parentSets[T]) add(what T, key controller.Key) {
	if s[what] == nil {
		s[what] = map[controller.Key]bool{}
	}
	s[what][key] = true
}

// remove removes a parent from one set.
func (s parentSets[T]) remove(what T, key controller.Key) {
	delete(s[what], key)
	if len(s[what]) == 0 {
		delete(s, what)
	}
}

// take removes and returns the set of what.
func (s parentSets[T]) take(what T) map[controller.Key]bool {
	keys := s[what]
	delete(s, what)
	return keys
}

// drop removes a parent from all sets.
func (s parentSets[T]) drop(key controller.Key) {
	for what := range s {
		s.remove(what, key)
	}
}
