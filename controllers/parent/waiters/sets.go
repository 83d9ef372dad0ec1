// Package waiters has the parents that wait for a namespace, or for an object that stands in the
// way of a child.
package waiters

import "github.com/libretto-k8s/libretto/runtime/controller"

// Sets maps each of several things to a set of parents, such as those that wait for it.
type Sets[T comparable] map[T]map[controller.Key]bool

// Add puts a parent into the set of what.
func (s Sets[T]) Add(what T, key controller.Key) {
	if s[what] == nil {
		s[what] = map[controller.Key]bool{}
	}
	s[what][key] = true
}

// remove removes a parent from one set.
func (s Sets[T]) remove(what T, key controller.Key) {
	delete(s[what], key)
	if len(s[what]) == 0 {
		delete(s, what)
	}
}

// Take removes and returns the set of what.
func (s Sets[T]) Take(what T) map[controller.Key]bool {
	keys := s[what]
	delete(s, what)
	return keys
}

// Drop removes a parent from all sets.
func (s Sets[T]) Drop(key controller.Key) {
	for what := range s {
		s.remove(what, key)
	}
}
