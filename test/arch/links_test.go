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
	goPath = regexp.MustCompile("`((?:apply|cmd|controllers|engines|runtime|scripts)(?:/[A-Za-z0-9_-]+)*(?:\\.go)?)`")
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

// TestContributingPaths checks that the Go files and packages that CONTRIBUTING names exist.
func TestContributingPaths(t *testing.T) {
	paths := goPath.FindAllStringSubmatch(prose(read(t, filepath.Join(root, "CONTRIBUTING.md"))), -1)
	if len(paths) < 2 {
		t.Errorf("found %d paths: nothing would be checked", len(paths))
	}
	for _, found := range paths {
		if path := found[1]; !strings.Contains(path, "NAME") {
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("CONTRIBUTING.md: %v", err)
			}
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
