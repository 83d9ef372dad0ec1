package livedefinition

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

const (
	// maxCompared is the size of a text, and maxComparedInAll that of all, up to which a difference is shown line by line.
	maxCompared      = 1 << 20
	maxComparedInAll = 16 << 20
	// maxComparedLines bounds the lines of a text: it takes time of their product.
	maxComparedLines = 10000
	// maxLine is how much of a line is shown.
	maxLine = 2 << 10
	// contextLines is how many lines are shown around a difference.
	contextLines = 3
)

// WriteDifference writes the unified diff of the files of two revisions.
func WriteDifference(out io.Writer, from, to *RevisionFiles, colour bool) error {
	before, after := from.texts(), to.texts()
	paths := slices.Sorted(maps.Keys(before))
	for path := range after {
		if _, known := before[path]; !known {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	w := &differenceWriter{out: out, colour: colour}
	for _, path := range paths {
		a, hadA := before[path]
		b, hasB := after[path]
		if hadA == hasB && a == b {
			continue
		}
		w.file(nameIn(from.ID, path, hadA), nameIn(to.ID, path, hasB), a, b)
	}
	if w.files == 0 {
		w.line("", "the files of both are the same")
	}
	return w.err
}

// nameIn returns the name of a file in a header.
func nameIn(revision, path string, exists bool) string {
	if !exists {
		return "/dev/null"
	}
	return shortID(revision) + "/" + path
}

type differenceWriter struct {
	out      io.Writer
	colour   bool
	files    int
	compared int
	err      error
}

func (w *differenceWriter) file(nameA, nameB, a, b string) {
	w.files++
	w.line("\x1b[1m", "--- "+nameA)
	w.line("\x1b[1m", "+++ "+nameB)
	linesA, linesB := linesOf(a), linesOf(b)
	w.compared += len(a) + len(b)
	if max(len(a), len(b)) > maxCompared || max(len(linesA), len(linesB)) > maxComparedLines || w.compared > maxComparedInAll {
		w.line("", fmt.Sprintf("too large to compare by lines: %d bytes in %d lines, and %d bytes in %d lines",
			len(a), len(linesA), len(b), len(linesB)))
		return
	}
	text, err := difflib.GetUnifiedDiffString(difflib.UnifiedDiff{A: linesA, B: linesB, Context: contextLines})
	if err != nil {
		w.err = err
		return
	}
	for line := range strings.Lines(text) {
		w.line(lineColours[line[0]], strings.TrimSuffix(line, "\n"))
	}
}

// lineColours are those of lines by how they begin.
var lineColours = map[byte]string{'@': "\x1b[36m", '-': "\x1b[31m", '+': "\x1b[32m"}

// linesOf returns the lines of a text, the last one marked if it has no end.
func linesOf(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	if last := len(lines) - 1; last >= 0 && !strings.HasSuffix(text, "\n") {
		lines[last] += "\n\\ No newline at end of file\n"
	}
	return lines
}

// line writes a line without what a terminal obeys.
func (w *differenceWriter) line(colour, line string) {
	if w.err != nil {
		return
	}
	if len(line) > maxLine {
		line = engines.Truncate(line, maxLine)
	}
	line = printable.Text(line)
	if w.colour && colour != "" {
		line = colour + line + "\x1b[0m"
	}
	_, w.err = fmt.Fprintln(w.out, line)
}
