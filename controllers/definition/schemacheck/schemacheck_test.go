package schemacheck

import (
	"errors"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/scriptcheck"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestBegin has when scripts are checked against schemas: after these have changed, and while there is a warning.
func TestBegin(t *testing.T) {
	type step struct {
		revision scripts.RevisionID
		versions string
		begins   bool
		// found is a warning of a check that has begun, and failed that it could not be made.
		found, failed bool
	}
	cases := map[string]struct {
		why   string
		stood bool
		steps []step
	}{
		"start":             {"What a process finds has been checked by its author.", false, []step{{"a", "1", false, false, false}, {"a", "1", false, false, false}}},
		"edit":              {"So has an edit of the scripts.", false, []step{{"a", "1", false, false, false}, {"b", "1", false, false, false}}},
		"schemas":           {"A change of a CustomResourceDefinition is looked at once.", false, []step{{"a", "1", false, false, false}, {"a", "2", true, false, false}, {"a", "2", false, false, false}, {"b", "2", false, false, false}}},
		"schemas again":     {"So is the next one.", false, []step{{"a", "1", false, false, false}, {"a", "2", true, false, false}, {"a", "1", true, false, false}}},
		"mended scripts":    {"A warning is over once the scripts are mended.", false, []step{{"a", "1", false, false, false}, {"a", "2", true, true, false}, {"a", "2", false, false, false}, {"b", "2", true, false, false}, {"c", "2", false, false, false}}},
		"another process":   {"A warning is not forgotten by a restart.", true, []step{{"a", "2", true, true, false}, {"a", "2", false, false, false}}},
		"could not be made": {"A check that could not be made is made again.", false, []step{{"a", "1", false, false, false}, {"a", "2", true, false, true}, {"a", "2", true, false, false}, {"a", "2", false, false, false}}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.why)
			var check State
			for i, s := range c.steps {
				if begins := check.begin(s.revision, s.versions, c.stood); begins != s.begins {
					t.Fatalf("step %d begins: %v, want %v", i, begins, s.begins)
				}
				if !s.begins {
					continue
				}
				var warnings []plan.Warning
				if s.found {
					warnings = []plan.Warning{{Reason: reason}}
				}
				var err error
				if s.failed {
					err = errors.New("no worker is free")
				}
				check.end(warnings, err)
				if found := len(check.Warnings()) > 0; found != s.found {
					t.Errorf("step %d warns: %v, want %v", i, found, s.found)
				}
			}
		})
	}
}

// TestWarning has what a warning names: the first places, and none that is right in a newer cluster.
func TestWarning(t *testing.T) {
	at := func(line int) scriptcheck.Finding {
		return scriptcheck.Finding{Location: engines.Location{File: "sync.js", Line: line, Column: 1}, Message: "no such field"}
	}
	doubtful := at(9)
	doubtful.IsDoubtful = true
	if got := warningOf([]scriptcheck.Finding{doubtful}); got != nil {
		t.Errorf("a doubtful finding: %v, want none", got)
	}
	got := warningOf([]scriptcheck.Finding{at(1), doubtful, at(2), at(3), at(4), at(5)})
	want := mismatch + strings.Join([]string{"sync.js:1:1: no such field", "sync.js:2:1: no such field", "sync.js:3:1: no such field"}, "; ") +
		"; and 2 more"
	if len(got) != 1 || got[0].Message != want || got[0].Reason != reason {
		t.Errorf("the warning is %q, want %q", got, want)
	}
}
