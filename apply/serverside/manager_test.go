package serverside

import (
	"strings"
	"testing"
)

func TestManagerName(t *testing.T) {
	long := strings.Repeat("x", 250)
	names := map[string]bool{}
	for _, name := range []string{"web", long, long + "y"} {
		manager := ManagerName("libretto", "composite", name)
		if len(manager) > maxManager || !strings.HasPrefix(manager, "libretto/composite/") {
			t.Errorf("%s", manager)
		}
		names[manager] = true
	}
	names[ManagerName("libretto", "decorator", "web")] = true
	if len(names) != 4 {
		t.Errorf("managers are not distinguished: %v", names)
	}
}
