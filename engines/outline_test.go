package engines

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestOutlineJSON checks that an outline comes through as it is, and that neither side takes one that is too large.
func TestOutlineJSON(t *testing.T) {
	at := Location{File: "a.js", Line: 1, Column: 2}
	small := &Outline{
		Function: "sync", Files: map[string]*OutlineStep{"a": nil},
		Root: NewOutlineStep(OutlineList, "", &OutlineStep{Op: OutlineString, Text: "a", At: at}, nil),
	}
	got, err := UnmarshalOutline(small.Marshal())
	if diff := cmp.Diff(small, got); diff != "" || err != nil {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
	if got, err := UnmarshalOutline((*Outline)(nil).Marshal()); got != nil || err != nil {
		t.Errorf("none becomes %v, error %v", got, err)
	}
	large := &Outline{Root: NewOutlineStep(OutlineList, "", make([]*OutlineStep, MaxOutlineSteps)...)}
	for i := range large.Root.Parts {
		large.Root.Parts[i] = NewOutlineStep(OutlineNull, "")
	}
	if large.Marshal() != "" {
		t.Error("an outline of too many steps is sent")
	}
	for name, text := range map[string]string{
		"no JSON": "{", "many steps": `{"root":{"o":"list","p":[` + strings.Repeat(`{"o":"?"},`, MaxOutlineSteps) + `{"o":"?"}]}}`,
		"many bytes": `{"root":{"o":"string","t":"` + strings.Repeat("a", maxOutlineBytes) + `"}}`, "deep": strings.Repeat(`{"root":`, 20_000),
	} {
		if got, err := UnmarshalOutline(text); err == nil || got != nil {
			t.Errorf("%s: no error", name)
		}
	}
}
