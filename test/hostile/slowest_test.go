//go:build linux

package hostile

import (
	"fmt"
	"sync"
	"time"
)

// slowest remembers the attacks that took longest.
type slowest struct {
	mu    sync.Mutex
	took  map[string]time.Duration
	whose map[string]string
}

func (s *slowest) note(name, what string, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.took == nil {
		s.took, s.whose = map[string]time.Duration{}, map[string]string{}
	}
	if took > s.took[what] {
		s.took[what], s.whose[what] = took, name
	}
}

func (s *slowest) String() string {
	return fmt.Sprintf("the slowest load took %v (%s), the latest call %v after its deadline (%s)",
		s.took["load"].Round(time.Millisecond), s.whose["load"], s.took["call"].Round(time.Millisecond), s.whose["call"])
}
