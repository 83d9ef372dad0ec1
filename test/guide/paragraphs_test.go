package guide

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// longest is how many words a paragraph, or an item of a list, may have.
const longest = 90

var (
	// noProse matches code, headings and rows of tables.
	noProse = regexp.MustCompile("(?ms)^ *```.*?^ *```$|^    [^\n]*$|^ *\\|[^\n]*$|^#[^\n]*$")
	// paragraphEnd matches what is between two paragraphs, or before an item.
	paragraphEnd = regexp.MustCompile(`\n\s*\n|\n\s*(?:[-*]|\d+\.) `)
)

// TestParagraphs checks that no paragraph of the guide and the cookbook is longer than readers bear.
func TestParagraphs(t *testing.T) {
	found := 0
	for _, folder := range []string{"guide", "cookbook"} {
		err := filepath.WalkDir(document(folder), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".md" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, paragraph := range paragraphEnd.Split(noProse.ReplaceAllString(string(text), ""), -1) {
				words := len(strings.Fields(paragraph))
				if found++; words > longest {
					t.Errorf("%s: a paragraph has %d words, and may have %d: divide it: %.80q", path, words, longest, strings.TrimSpace(paragraph))
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 500 {
		t.Errorf("%d paragraphs are found: some are not looked at", found)
	}
}
