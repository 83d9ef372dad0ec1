package apply

import (
	"fmt"
	"testing"
)

// TestServerSidePeace shows that two definitions that apply different fields of one object
// have nothing to write, however often they look.
func TestServerSidePeace(t *testing.T) {
	s := newServerSideEnv(t)
	one, other := s.applies("one"), s.applies("other")
	ones, others := s.configMap("shared", "one: '1', both: '1'"), s.configMap("shared", "other: '1', both: '1'")
	one.settle(ones)
	other.settle(others)
	version := s.live(ones).GetResourceVersion()
	for n := range 1000 {
		if n%250 == 0 {
			s.edit(ones, "somebody", fmt.Sprintf(`{"data": {"theirs": "%d"}}`, n))
			version = s.live(ones).GetResourceVersion()
		}
		if writes := one.write(ones) + other.write(others); writes > 0 {
			t.Fatalf("resync %d writes", n)
		}
	}
	if now := s.live(ones); now.GetResourceVersion() != version || value(now, "data") != "map[both:1 one:1 other:1 theirs:750]" {
		t.Errorf("version %s became %v", version, now)
	}
	// What one lets go of stays for as long as the other asks for it.
	one.settle(s.configMap("shared", "one: '2'"))
	if got := value(s.live(ones), "data"); got != "map[both:1 one:2 other:1 theirs:750]" {
		t.Errorf("data is %s", got)
	}
	other.settle(s.configMap("shared", ""))
	if got := value(s.live(ones), "data"); got != "map[one:2 theirs:750]" {
		t.Errorf("data is %s", got)
	}
}
