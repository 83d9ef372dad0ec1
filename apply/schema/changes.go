package schema

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// given is what For returned last for a kind, and how often that was another than before.
type given struct {
	kind    *Kind
	changes uint64
}

// Changes returns how often the schemas of some kinds have changed since For first returned
// them. It asks the API server nothing.
func (s *Source) Changes(kinds ...schema.GroupVersionKind) uint64 {
	if s == nil {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var sum uint64
	for _, kind := range kinds {
		sum += s.given[kind].changes
	}
	return sum
}

// Listen has f called after every change of a schema that For has returned, from any goroutine, until stop is called: a call that is under
// way then goes on. f must return soon.
func (s *Source) Listen(f func()) (stop func()) {
	if s == nil {
		return func() {}
	}
	return s.listeners.Add(f)
}

// Run looks for changes after Changed, even if no schema is asked for then, until ctx ends.
func (s *Source) Run(ctx context.Context) {
	for {
		var due <-chan time.Time
		if at, pending := s.nextLook(); pending {
			due = s.config.Clock.After(at.Sub(s.config.Clock.Now()))
		}
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		case <-due:
			s.look(ctx)
		}
	}
}

// nextLook returns when Run looks the next time, if it does.
func (s *Source) nextLook() (at time.Time, pending bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if len(s.looks) == 0 {
		return time.Time{}, false
	}
	return s.looks[0], true
}

// look fetches what has changed of the schemas that For was asked for.
func (s *Source) look(ctx context.Context) {
	kinds := s.startLook()
	if len(kinds) == 0 {
		return
	}
	s.fetching.Lock()
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	s.refreshIndex(ctx)
	for _, kind := range kinds {
		s.refreshDocument(ctx, kind.GroupVersion())
	}
	cancel()
	s.fetching.Unlock()
	s.lookLater(kinds)
	for _, kind := range kinds {
		s.give(kind)
	}
}

// lookLater has Run look once more if something could not be fetched.
func (s *Source) lookLater(kinds []schema.GroupVersionKind) {
	now := s.config.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := len(s.checks) > 0 && !now.Before(s.checks[0])
	for _, kind := range kinds {
		have, url := s.documents[kind.GroupVersion()], s.index[kind.GroupVersion()]
		behind = behind || url != "" && (have == nil || have.url != url)
	}
	if behind && len(s.looks) == 0 {
		s.looks = []time.Time{now.Add(max(s.config.Interval, retryFirst))}
	}
}

// startLook takes the looks that are due off the list, and returns the kinds to look at.
func (s *Source) startLook() []schema.GroupVersionKind {
	now := s.config.Clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.looks) > 0 && !now.Before(s.looks[0]) {
		s.looks = s.looks[1:]
	}
	kinds := make([]schema.GroupVersionKind, 0, len(s.given))
	for kind := range s.given {
		kinds = append(kinds, kind)
	}
	return kinds
}

// give returns the schema of a kind as it is known, and notes whether it is another than
// the one that was given before.
func (s *Source) give(kind schema.GroupVersionKind) *Kind {
	s.mu.RLock()
	known := s.kindOf(kind)
	before, asked := s.given[kind]
	s.mu.RUnlock()
	if asked && before.kind == known {
		return known
	}
	s.mu.Lock()
	known = s.kindOf(kind)
	before = s.given[kind]
	changed := before.kind != nil && before.kind != known // One that comes late is no other.
	if changed {
		before.changes++
	}
	s.given[kind] = given{kind: known, changes: before.changes}
	s.mu.Unlock()
	if changed {
		for _, listener := range s.listeners.All() {
			listener()
		}
	}
	return known
}

// kindOf returns what is known of a kind. The caller holds mu.
func (s *Source) kindOf(kind schema.GroupVersionKind) *Kind {
	have := s.documents[kind.GroupVersion()]
	if have == nil || have.document == nil {
		return nil
	}
	return have.document.kinds[kind]
}

// Secret reports whether a place in an object is secret by the schema of its kind. It asks the
// API server for nothing: of a kind that no definition has used yet, nothing is known.
func (s *Source) Secret(kind schema.GroupVersionKind, path jsonvalue.Path) bool {
	s.mu.RLock()
	known := s.kindOf(kind)
	s.mu.RUnlock()
	return known.Secret(path)
}
