// Package guide runs the scripts that docs/guide.md shows.
package guide

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// snippet is a code block of the guide.
type snippet struct {
	section, language string
	// number counts the blocks of a language in a section from 1.
	number int
	text   string
}

func (s snippet) String() string { return fmt.Sprintf("%s, %s %d", s.section, s.language, s.number) }

// isScript reports whether a block is a script or a file of tests.
func (s snippet) isScript() bool {
	switch s.language {
	case "js", "ts", "jsonnet", "cel":
		return true
	case "yaml":
		return strings.Contains(s.text, "response:\n") || strings.Contains(s.text, "kind: ControllerTest")
	default:
		return false
	}
}

var (
	heading = regexp.MustCompile(`^#+ (?:\d+\. )?(.+)$`)
	fence   = regexp.MustCompile("^```(\\w*)$")
)

// readGuide returns the code blocks of the guide.
func readGuide(t *testing.T) []snippet {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "guide.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []snippet
	var open *snippet
	section, numbers := "", map[string]int{}
	for line := range strings.Lines(string(text)) {
		trimmed := strings.TrimRight(line, "\n")
		switch block := fence.FindStringSubmatch(trimmed); {
		case block != nil && open == nil:
			numbers[section+block[1]]++
			open = &snippet{section: section, language: block[1], number: numbers[section+block[1]]}
		case block != nil:
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += line
		default:
			if h := heading.FindStringSubmatch(trimmed); h != nil {
				section = h[1]
			}
		}
	}
	return all
}

// TestGuide runs the cases in testdata. The first lines of each are "FILE: SECTION, LANGUAGE NUMBER": the file is that code block of the guide.
// Each script of the guide has a case.
func TestGuide(t *testing.T) {
	unused := map[string]snippet{}
	for _, s := range readGuide(t) {
		if s.isScript() {
			unused[s.String()] = s
		}
	}
	if len(unused) == 0 {
		t.Fatal("docs/guide.md shows no scripts")
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	scripts := map[string]string{}
	for key, s := range unused {
		scripts[key] = s.text
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(archive.Comment)) {
			name, key, _ := strings.Cut(strings.TrimSpace(line), ": ")
			text, known := scripts[key]
			if !known {
				t.Errorf("%s: the guide has no block %s", file, strconv.Quote(key))
			}
			delete(unused, key)
			archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runArchive(t, archive) })
	}
	for key := range unused {
		t.Errorf("docs/guide.md: no case in testdata runs the block %q", key)
	}
}
