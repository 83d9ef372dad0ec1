package arch

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// specification is the folder of the pages whose sections are cited.
var specification = filepath.Join(root, "docs", "spec")

var (
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	numbered = regexp.MustCompile(`^(\d+(?:\.\d+)?|Appendix [A-Z]) `)
	// cited matches the sections in "sections 1.4 and 2 of the specification", "Specification 2.5."
	// and "Appendix B of the specification".
	cited   = regexp.MustCompile(`(?:[Ss]ections?|[Ss]pecification,?) \d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*|Appendix [A-Z]\b`)
	section = regexp.MustCompile(`\d+(?:\.\d+)?|Appendix [A-Z]`)
)

// citations returns the sections that a comment cites, if it cites the specification.
func citations(comment string) []string {
	text := strings.Join(strings.Fields(comment), " ")
	if !strings.Contains(strings.ToLower(text), "specification") {
		return nil
	}
	var sections []string
	for _, match := range cited.FindAllString(text, -1) {
		sections = append(sections, section.FindAllString(match, -1)...)
	}
	return sections
}

func TestCitations(t *testing.T) {
	for name, c := range map[string]struct {
		comment string
		want    []string
	}{
		"one section":    {"as in section 3.4 of the specification.", []string{"3.4"}},
		"over two lines": {"by the rules (section\n2.5 of the\nspecification).", []string{"2.5"}},
		"two":            {"sections 1.4 and 2 of the specification", []string{"1.4", "2"}},
		"a range":        {"sections 2.1 to 2.5 of the specification, and its Appendix A", []string{"2.1", "2.5", "Appendix A"}},
		"two clauses":    {"section 2 of the specification; section 9 for maps", []string{"2", "9"}},
		"a txtar case":   {"Shown once. Specification 1.5 and 2.2.", []string{"1.5", "2.2"}},
		"an appendix":    {"Specification, Appendix B.", []string{"Appendix B"}},
		"two digits":     {"section 3.10 of the specification", []string{"3.10"}},
		"another text":   {"see section 12 of the guide", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, citations(c.comment)); diff != "" {
				t.Errorf("citations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCitedSectionsExist checks that docs/spec has a heading for each section that the comments of Go
// files and conformance cases cite.
func TestCitedSectionsExist(t *testing.T) {
	pages := map[string]int{}
	for _, page := range glob(t, filepath.Join(specification, "*.md")) {
		for _, h := range headings(t, page) {
			if n := numbered.FindStringSubmatch(h); n != nil {
				pages[n[1]]++
			}
		}
	}
	for number, count := range pages {
		if count > 1 {
			t.Errorf("docs/spec has section %s %d times: a citation of it is ambiguous", number, count)
		}
	}
	found := 0
	for place, comments := range commentsOfAll(t) {
		for _, comment := range comments {
			for _, number := range citations(comment) {
				found++
				if pages[number] == 0 {
					t.Errorf("%s cites section %s of the specification, which no heading in docs/spec has", place, number)
				}
			}
		}
	}
	if found < 2 {
		t.Errorf("found %d citations: nothing would be checked", found)
	}
}

// citedPage matches a page of the documentation in a comment.
var citedPage = regexp.MustCompile(`\bdocs/[a-z0-9/]+\.md\b`)

// TestCitedPagesExist checks that the pages of docs that comments of Go files and conformance cases name exist.
func TestCitedPagesExist(t *testing.T) {
	found := 0
	for place, comments := range commentsOfAll(t) {
		for _, page := range citedPage.FindAllString(strings.Join(comments, "\n"), -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(page))); err != nil {
				t.Errorf("%s names a page that does not exist: %v", place, err)
			}
		}
	}
	if found < 2 {
		t.Errorf("found %d pages: nothing would be checked", found)
	}
}

// commentsOfAll returns the comments of each Go file and of each conformance case.
func commentsOfAll(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredGoFiles, p.TestGoFiles, p.XTestGoFiles) {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range file.Comments {
				all[p.ImportPath+"/"+name] = append(all[p.ImportPath+"/"+name], group.Text())
			}
		}
	}
	for _, path := range glob(t, filepath.Join(root, "test", "conformance", "testdata", "*", "*.txtar")) {
		comment, _, _ := strings.Cut(read(t, path), "\n-- ")
		all[path] = []string{comment}
	}
	return all
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s matches nothing (%v): nothing would be checked", pattern, err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
