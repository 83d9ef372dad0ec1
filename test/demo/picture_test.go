package main

import (
	"encoding/xml"
	"errors"
	"html"
	"io"
	"os"
	"strings"
	"testing"
)

// TestPicture checks that the picture of the README shows the edits of the demo as they are now, and no path of the machine that made it.
func TestPicture(t *testing.T) {
	content, err := os.ReadFile("../../docs/edit.svg")
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(strings.NewReader(string(content)))
	for err == nil {
		_, err = decoder.Token()
	}
	if !errors.Is(err, io.EOF) {
		t.Fatalf("docs/edit.svg: %v", err)
	}
	for _, want := range []string{editTitle, breakTitle, leaderEdit.old, missingParenthesis.old, missingParenthesis.new, "sync.js:52:36"} {
		if !strings.Contains(string(content), html.EscapeString(want)) {
			t.Errorf("docs/edit.svg does not show %q: run make picture", want)
		}
	}
	for _, path := range []string{"/tmp/", "/root/", "/home/", "/Users/", "/var/"} {
		if strings.Contains(string(content), path) {
			t.Errorf("docs/edit.svg has a path of the machine that made it, in %s", path)
		}
	}
}
