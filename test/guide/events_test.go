package guide

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// TestHostReasons checks that no hook can ask for an event that docs/reference/events.md describes as one of the host's, and that the page
// describes all of the reasons that are refused for that.
func TestHostReasons(t *testing.T) {
	text, err := os.ReadFile(document("reference/events.md"))
	if err != nil {
		t.Fatal(err)
	}
	lists, _, found := strings.Cut(string(text), "A parent has one `SyncError`")
	if !found {
		t.Fatal("what follows the lists of events begins with other words")
	}
	named := regexp.MustCompile("`([A-Z][a-z]+[A-Za-z]*)`").FindAllStringSubmatch(lists, -1)
	if len(named) < 30 {
		t.Fatalf("%d events are found", len(named))
	}
	for _, reason := range named {
		if !slices.Contains(variant.HostReasons, reason[1]) && !slices.Contains(notReasons, reason[1]) {
			t.Errorf("hooks may ask for events with the reason %s, which is the host's: add it to variant.HostReasons", reason[1])
		}
	}
	for _, reason := range variant.HostReasons {
		if !strings.Contains(string(text), "`"+reason+"`") {
			t.Errorf("docs/reference/events.md has no event %s", reason)
		}
	}
}

// notReasons are other words there: conditions.
var notReasons = []string{"ScriptsReady", "Accepted"}
