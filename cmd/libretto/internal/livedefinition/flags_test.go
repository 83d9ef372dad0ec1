package livedefinition

import (
	"slices"
	"testing"
)

// TestCompletions completes names of definitions: KIND/NAME, and NAME if one alone has it.
func TestCompletions(t *testing.T) {
	all := []string{"compositecontroller/both", "compositecontroller/hello", "decoratorcontroller/both"}
	for begun, want := range map[string][]string{
		"":    {"compositecontroller/both", "decoratorcontroller/both", "hello"},
		"h":   {"hello"},
		"b":   nil, // KIND/NAME is to be written.
		"com": {"compositecontroller/both", "compositecontroller/hello"},
		"cc/": nil,
	} {
		if got := completions(all, begun); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", begun, got, want)
		}
	}
}
