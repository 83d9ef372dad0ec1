package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	link = regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	// codeBlock matches a fenced or indented block.
	codeBlock = regexp.MustCompile("(?ms)^```.*?^```$|^    [^\n]*$")
	// goPath matches a package or a Go file of this module in a code span.
	goPath = regexp.MustCompile("`((?:apply|cmd|controllers|engines|runtime|scripts)(?:(?:/[A-Za-z0-9_-]+)+(?:\\.go)?)?)`")
)

// TestLinks checks that the files and headings that the documentation links to exist.
func TestLinks(t *testing.T) {
	for _, page := range documentation(t) {
		for _, found := range link.FindAllStringSubmatch(prose(read(t, page)), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			target, anchor := page, found[2]
			if found[1] != "" {
				target = filepath.Join(filepath.Dir(page), found[1])
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", page, found[0], err)
				continue
			}
			if anchor != "" && !slices.ContainsFunc(headings(t, target), func(h string) bool { return anchorOf(h) == anchor }) {
				t.Errorf("%s: %s: %s has no such heading", page, found[0], target)
			}
		}
	}
}

// TestNamedPaths checks that the Go files and packages that CONTRIBUTING and the pages of docs/design name exist.
func TestNamedPaths(t *testing.T) {
	pages := append(glob(t, filepath.Join(root, "docs", "design", "*", "*.md")), glob(t, filepath.Join(root, "docs", "design", "*.md"))...)
	for _, page := range append(pages, filepath.Join(root, "CONTRIBUTING.md")) {
		paths := goPath.FindAllStringSubmatch(prose(read(t, page)), -1)
		if len(paths) < 2 && filepath.Base(page) == "CONTRIBUTING.md" {
			t.Errorf("found %d paths: nothing would be checked", len(paths))
		}
		for _, found := range paths {
			if path := found[1]; !strings.Contains(path, "NAME") {
				if _, err := os.Stat(filepath.Join(root, path)); err != nil {
					t.Errorf("%s: %v", page, err)
				}
			}
		}
	}
}

// TestContents checks that the README of a folder of pages links to each of them.
func TestContents(t *testing.T) {
	for _, folder := range []string{"design", "guide"} {
		contents := filepath.Join(root, "docs", folder, "README.md")
		linked := map[string]bool{contents: true}
		for _, found := range link.FindAllStringSubmatch(prose(read(t, contents)), -1) {
			linked[filepath.Join(filepath.Dir(contents), found[1])] = true
		}
		for _, page := range documentation(t) {
			if strings.HasPrefix(page, filepath.Dir(contents)+string(filepath.Separator)) && !linked[page] {
				t.Errorf("%s has no link to %s", contents, page)
			}
		}
	}
}

// walkRow matches a row of a walk: a file, and a function in it.
var walkRow = regexp.MustCompile("(?m)^\\| `([^`]+\\.go)` \\| `(\\w+)` \\|")

// TestWalk checks that the functions that docs/design/edits/walk.md names are in the files that it names.
func TestWalk(t *testing.T) {
	rows := walkRow.FindAllStringSubmatch(read(t, filepath.Join(root, "docs", "design", "edits", "walk.md")), -1)
	if len(rows) < 20 {
		t.Errorf("found %d rows: most would not be checked", len(rows))
	}
	for _, row := range rows {
		declared := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?` + row[2] + `[\[(]`)
		if text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(row[1]))); err != nil || !declared.Match(text) {
			t.Errorf("docs/design/edits/walk.md: %s has no function %s (%v): name where it is now", row[1], row[2], err)
		}
	}
}

// documentation returns the paths of all pages.
func documentation(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "docs/*/*/*.md", "examples/*.md", "examples/*/*.md", "test/*/*.md"} {
		pages = append(pages, glob(t, filepath.Join(root, filepath.FromSlash(pattern)))...)
	}
	return pages
}

// prose returns a page without its code blocks.
func prose(page string) string { return codeBlock.ReplaceAllString(page, "") }

// anchorOf returns GitHub's anchor of a heading.
func anchorOf(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		default:
			return -1
		}
	}, strings.ToLower(heading))
}

func headings(t *testing.T, page string) []string {
	t.Helper()
	var all []string
	for _, match := range heading.FindAllStringSubmatch(prose(read(t, page)), -1) {
		all = append(all, match[1])
	}
	return all
}
