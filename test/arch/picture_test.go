package arch

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the picture of the wings into CONTRIBUTING.md")

// The picture is between these lines of CONTRIBUTING.md.
const (
	pictureBegins = "<!-- The wings, by make generate -->\n"
	pictureEnds   = "<!-- End of the wings -->\n"
)

// TestPicture checks that CONTRIBUTING.md shows the wings as the rules have them.
func TestPicture(t *testing.T) {
	name := filepath.Join(root, "CONTRIBUTING.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := bytes.Cut(text, []byte(pictureBegins))
	_, after, ends := bytes.Cut(rest, []byte(pictureEnds))
	if !found || !ends {
		t.Fatalf("CONTRIBUTING.md has no place for the picture, between %q and %q", pictureBegins, pictureEnds)
	}
	want := slices.Concat(before, []byte(pictureBegins+picture()+pictureEnds), after)
	if bytes.Equal(text, want) {
		return
	}
	if !*update {
		t.Fatal("CONTRIBUTING.md shows other wings than test/arch has: make generate")
	}
	if err := os.WriteFile(name, want, 0o644); err != nil {
		t.Fatal(err)
	}
}

// picture returns the wings as a chart, with an arrow from each to those that it imports and does not reach by others, and as a table.
func picture() string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart LR\n")
	for i, w := range wings {
		reached := map[int]bool{}
		for next := range neighbours(i) {
			for far := range closure(next) {
				reached[far] = reached[far] || far != next
			}
		}
		for _, next := range slices.Sorted(maps.Keys(neighbours(i))) {
			if !reached[next] {
				fmt.Fprintf(&b, "  %d[%s] --> %d[%s]\n", i, w.name, next, wings[next].name)
			}
		}
	}
	b.WriteString("```\n\n| wing | folders | holds |\n| --- | --- | --- |\n")
	for _, w := range wings {
		fmt.Fprintf(&b, "| %s | `%s` | %s |\n", w.name, strings.ReplaceAll(strings.Join(w.packages, "`, `"), "/...", "/…"), w.holds)
	}
	return b.String()
}

// neighbours returns the indices of the other wings, to the left, that a wing may import packages of, besides values.
func neighbours(i int) map[int]bool {
	all := map[int]bool{}
	for _, pattern := range patterns(wings[i].imports) {
		for left := 1; left < i; left++ {
			other, _ := wingOf(example(pattern))
			if other == &wings[left] || matches(pattern, example(wings[left].packages[0])) {
				all[left] = true
			}
		}
	}
	return all
}

// example returns a path that matches a pattern.
func example(pattern string) string {
	return strings.ReplaceAll(strings.TrimSuffix(pattern, "/..."), "*", "x")
}

// closure returns the wings that can be reached from one, with itself.
func closure(from int) map[int]bool {
	all := map[int]bool{from: true}
	for next := range neighbours(from) {
		maps.Copy(all, closure(next))
	}
	return all
}
