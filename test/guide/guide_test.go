// Package guide runs the scripts and tests that docs/guide and docs/migrate.md show.
package guide

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/test/cases"
)

func TestMain(m *testing.M) { cases.Main(m) }

// snippet is a code block of a document.
type snippet struct {
	section, language string
	// number counts the blocks of a language in a section from 1.
	number int
	text   string
}

func (s snippet) String() string { return fmt.Sprintf("%s, %s %d", s.section, s.language, s.number) }

// isScript reports whether a block is a script, a file of tests, or cases of one.
func (s snippet) isScript() bool {
	switch s.language {
	case "js", "ts", "jsonnet", "cel":
		return true
	case "yaml":
		return strings.Contains(s.text, "response:\n") || strings.Contains(s.text, "kind: ControllerTest") || isCases(s.text)
	default:
		return false
	}
}

// isCases reports whether a block has cases that compare something, or are explored.
func isCases(text string) bool {
	has := func(field string) bool { return strings.Contains(text, " "+field+":") }
	return strings.HasPrefix(text, "- name:") && (has("want") || has("response") || has("explore"))
}

// document returns the path of a document.
func document(name string) string { return filepath.Join("..", "..", "docs", name) }

// pages returns the names of the guide's pages.
func pages(t *testing.T) (names []string) {
	t.Helper()
	paths, err := filepath.Glob(document(filepath.Join("guide", "*.md")))
	if err != nil || len(paths) < 2 {
		t.Fatalf("docs/guide has the pages %v (%v): nothing would be checked", paths, err)
	}
	for _, path := range paths {
		names = append(names, filepath.Join("guide", filepath.Base(path)))
	}
	return names
}

var (
	heading = regexp.MustCompile(`^#+ (.+)$`)
	fence   = regexp.MustCompile("^```(\\w*)$")
)

// snippets returns the code blocks of a document.
func snippets(t *testing.T, name string) []snippet {
	t.Helper()
	text, err := os.ReadFile(document(name))
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

// TestGuide runs the archives in testdata/guide. The first lines of each are "FILE: SECTION, LANGUAGE NUMBER": that code block of the
// guide is the file, or follows what the archive has of it. Each script of the guide is in an archive.
func TestGuide(t *testing.T) {
	scripts := map[string]string{}
	for _, page := range pages(t) {
		for _, s := range snippets(t, page) {
			if !s.isScript() {
				continue
			}
			if _, twice := scripts[s.String()]; twice {
				t.Errorf("docs/guide has the block %q twice: give the section on %s another name", s, page)
			}
			scripts[s.String()] = s.text
		}
	}
	if len(scripts) < 2 {
		t.Fatalf("docs/guide shows %d scripts: nothing would be checked", len(scripts))
	}
	files, err := filepath.Glob("testdata/guide/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, file := range files {
		archive := parse(t, file)
		for line := range strings.Lines(string(archive.Comment)) {
			name, key, _ := strings.Cut(strings.TrimSpace(line), ": ")
			text, known := scripts[key]
			if !known {
				t.Errorf("%s: the guide has no block %q", file, key)
			}
			used[key] = true
			add(archive, name, text)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { run(t, archive) })
	}
	for key := range scripts {
		if !used[key] {
			t.Errorf("docs/guide: no archive in testdata/guide has the block %q", key)
		}
	}
}

// TestMigrate runs the files that docs/migrate.md has, and that begin with their names, with the tests in testdata.
func TestMigrate(t *testing.T) {
	archive := parse(t, filepath.Join("testdata", "migrate.txtar"))
	named := regexp.MustCompile(`^(?:#|//) (\S+/\S+)\n`)
	folders := map[string]bool{}
	for _, s := range snippets(t, "migrate.md") {
		name := named.FindStringSubmatch(s.text)
		if name == nil {
			if s.isScript() {
				t.Errorf("docs/migrate.md: the block %q does not begin with the name of its file", s)
			}
			continue
		}
		folders[filepath.Dir(name[1])] = true
		add(archive, name[1], s.text)
	}
	for folder := range folders {
		if test := folder + "/" + folder + "_test.yaml"; len(text(archive, test)) == 0 {
			t.Errorf("testdata/migrate.txtar has no %s", test)
		}
	}
	run(t, archive)
}

func parse(t *testing.T, file string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// text returns the text of a file of an archive, or nil.
func text(archive *txtar.Archive, name string) []byte {
	for _, file := range archive.Files {
		if file.Name == name {
			return file.Data
		}
	}
	return nil
}

// add appends to a file of an archive.
func add(archive *txtar.Archive, name, text string) {
	for i := range archive.Files {
		if archive.Files[i].Name == name {
			archive.Files[i].Data = append(archive.Files[i].Data, text...)
			return
		}
	}
	archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
}

// run runs the cases of an archive. Empty files of it are those of examples/hello.
func run(t *testing.T, archive *txtar.Archive) {
	dir := t.TempDir()
	for _, file := range archive.Files {
		data := file.Data
		if len(data) == 0 {
			var err error
			if data, err = os.ReadFile(filepath.Join("..", "..", "examples", "hello", file.Name)); err != nil {
				t.Fatal(err)
			}
		}
		path := filepath.Join(dir, filepath.FromSlash(file.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir) // Tests read nothing outside of the folder that they are started in.
	if len(cases.MustPass(t, cases.NewRegistry(t), ".")) == 0 {
		t.Error("there are no cases")
	}
}
