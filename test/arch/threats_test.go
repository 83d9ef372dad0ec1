package arch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// citedTest matches the link to a test, or to another function of a test file.
	citedTest = regexp.MustCompile(`\[([^\]]*)\]\(([^)#]*_test\.go)\)`)
	// threatRow matches a row of a table of what an actor cannot do.
	threatRow = regexp.MustCompile(`(?m)^\| .*$`)
)

// TestThreats checks that each test that docs/threats.md and SECURITY.md name exists, in the file that they
// name, and that the page names one for everything that it says an actor cannot do.
func TestThreats(t *testing.T) {
	threats := filepath.Join(root, "docs", "threats.md")
	found := 0
	for _, page := range []string{threats, filepath.Join(root, "SECURITY.md")} {
		for _, cited := range citedTest.FindAllStringSubmatch(read(t, page), -1) {
			found++
			name, path := cited[1], filepath.Join(filepath.Dir(page), cited[2])
			text, err := os.ReadFile(path)
			if err != nil || !declares(string(text), name) {
				t.Errorf("%s names %s, which is not in %s (%v): name another test of it, or write one", page, name, cited[2], err)
			}
		}
	}
	tables := strings.Split(read(t, threats), "| cannot | because | shown by |\n")
	for _, table := range tables[1:] {
		rows, _, _ := strings.Cut(table, "\n\n")
		for _, row := range threatRow.FindAllString(rows, -1) {
			if !strings.HasPrefix(row, "| --- ") && !citedTest.MatchString(row) {
				t.Errorf("no test shows that an actor cannot do this: %s", row)
			}
		}
	}
	if found < 2 || len(tables) < 2 {
		t.Errorf("found %d tests and %d tables: nothing would be checked", found, len(tables)-1)
	}
}

// declares reports whether a test file has a test or fuzz target of that name.
func declares(text, name string) bool {
	return regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(name) + `\([tf] \*testing\.[TF]\) \{`).MatchString(text)
}

func TestDeclares(t *testing.T) {
	const text = "package a\n\nfunc TestA(t *testing.T) {\n}\n\nfunc FuzzB(f *testing.F) {\n}\n// func TestC(t *testing.T) {\nfunc testD(t *testing.T) {}\n"
	for name, want := range map[string]bool{"TestA": true, "FuzzB": true, "TestC": false, "TestD": false, "Test": false, "": false} {
		if got := declares(text, name); got != want {
			t.Errorf("declares %s: %v, want %v", name, got, want)
		}
	}
}
