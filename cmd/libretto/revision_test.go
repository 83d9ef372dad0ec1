package main

import "testing"

// TestRevisionTranscripts runs the commands of each case.
func TestRevisionTranscripts(t *testing.T) {
	program.Compare(t, "testdata/revision/*.txtar", 1, examples)
}
