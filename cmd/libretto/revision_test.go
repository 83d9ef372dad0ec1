package main

import (
	"path/filepath"
	"testing"
)

// TestRevisionTranscripts runs the commands of each case, as TestRender does.
func TestRevisionTranscripts(t *testing.T) {
	root, err := filepath.Abs(examples)
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(filepath.Join("testdata", "revision", "ids.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	testTranscript(t, path, root)
}
