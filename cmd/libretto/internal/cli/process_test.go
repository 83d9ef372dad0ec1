package cli

import (
	"bytes"
	"os"
	"testing"
)

// TestColour checks that standard output is coloured only on a terminal.
func TestColour(t *testing.T) {
	if (Process{Getenv: func(string) string { return "" }, Stdout: &bytes.Buffer{}}).IsColoured() {
		t.Error("a pipe is coloured")
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for variable, want := range map[string]bool{"": true, "NO_COLOR": false, "TERM": false} {
		getenv := func(name string) string {
			if name == variable {
				return "dumb"
			}
			return ""
		}
		if got := (Process{Getenv: getenv, Stdout: null}).IsColoured(); got != want {
			t.Errorf("with %s, a terminal is coloured: %v, want %v", variable, got, want)
		}
	}
}
